import t from 'tap'
import { systemClock } from '#api/clock.js'
import type { Client } from '#client/client.js'
import type { InformerFactory } from '#client/informer-factory.js'
import type { Pod } from '#client/pod.js'
import { PodWriter } from '#scheduler/pod-writer.js'
import { pod } from './small-cluster.js'

t.test(
  'what is written about a Pod is known at once, for the attempt that comes before the watch',
  async (t) => {
    const known: Pod[] = []
    const answer = { ...pod('p'), status: { nominatedNodeName: 'n' } }
    const writer = new PodWriter({
      client: { patch: async () => answer } as unknown as Client,
      informers: {
        for: () => ({ observe: (one: Pod) => known.push(one) }),
      } as unknown as InformerFactory,
      recorder: { event: () => {}, flush: async () => {} },
      clock: systemClock,
      schedulerName: 'default-scheduler',
    })
    await writer.nominate(pod('p'), 'n')
    t.same(known, [answer])
  },
)
