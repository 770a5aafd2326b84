/** What the scheduler does while the watch of Pods is behind that of Nodes. */
import t from 'tap'
import { conditionOf } from '#api/conditions.js'
import type { PersistedObject } from '#api/object.js'
import { whenAborted } from '#async/sleep.js'
import type { Client, WatchOptions } from '#client/client.js'
import type { Pod } from '#client/pod.js'
import { type ResourceRef, resources } from '#client/resources.js'
import { parseFlags } from '#program/flags.js'
import { schedulerProcess } from '#scheduler/main.js'
import { startBeside } from '../controllers/in-process.js'
import { eventually } from '../eventually.js'

const namespace = 'default'

/** A client that is told of no Pod any more once it was told of that one. */
const seesLast = (last: string) => (client: Client) => ({
  async *watch(ref: ResourceRef, options: WatchOptions) {
    let isBehind = false
    for await (const event of client.watch<PersistedObject>(ref, options)) {
      if (isBehind) await whenAborted(options.signal)
      isBehind = ref.resource === 'pods' && event.object.metadata.name === last
      yield event
    }
  },
})

t.test(
  'a Pod that has sent one away sends away no other before the watch tells of it',
  async (t) => {
    const flags = parseFlags([], schedulerProcess.flags)
    const client = await startBeside(
      t,
      (deps) => schedulerProcess.run(deps, flags),
      seesLast('high'),
      { disableAdmissionPlugins: ['ServiceAccount'] },
    )
    const { nodes, pods } = resources
    const make = (name: string, spec: object) =>
      client.create(pods, {
        metadata: { name, namespace },
        spec: {
          containers: [{ name: 'c', image: 'i', resources: { requests: { cpu: '1' } } }],
          tolerations: [{ operator: 'Exists' }],
          ...spec,
        },
      })
    const capacity = { cpu: '1', memory: '8Gi', pods: '10' }
    for (const name of ['a', 'b']) {
      await client.create(nodes, {
        metadata: { name },
        status: { capacity, allocatable: capacity },
      })
      await make(`on-${name}`, { nodeName: name })
    }
    await make('high', { priorityClassName: 'system-cluster-critical' })
    const ending = async () =>
      (await client.list<Pod>(pods, { namespace })).items.filter(
        ({ metadata }) => metadata.deletionTimestamp !== undefined,
      )
    await eventually('one is sent away', async () => (await ending()).length > 0)
    // Somebody has to look again.
    await eventually('the next attempt', async () => {
      await client.patch(
        nodes,
        { name: 'a' },
        { metadata: { labels: { looks: String(performance.now()) } } },
        { type: 'merge' },
      )
      const { message = '' } =
        conditionOf(await client.get<Pod>(pods, { name: 'high', namespace }), 'PodScheduled') ?? {}
      return (
        message.includes('a terminating pod on the nominated node') || (await ending()).length > 1
      )
    })
    t.equal((await ending()).length, 1)
  },
)
