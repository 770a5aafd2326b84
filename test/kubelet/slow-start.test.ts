/** A Pod that is gone before its slow start could be told: nobody writes about it any more. */
import t from 'tap'
import { systemClock } from '#api/clock.js'
import { silentLog } from '#client/log.js'
import { noDns } from '#kubelet/environment/pod-dns.js'
import type { Pod } from '#kubelet/pod.js'
import type { PodContext } from '#kubelet/pod-context.js'
import { PodWorker } from '#kubelet/pod-worker.js'
import { eventually } from '../eventually.js'

t.test('a slow start is not told of once the writer has forgotten the Pod', async (t) => {
  const pod = {
    kind: 'Pod',
    apiVersion: 'v1',
    metadata: { name: 'p', namespace: 'ns', uid: 'u' },
    spec: { containers: [{ name: 'main', image: 'x' }] },
  } as unknown as Pod
  const told: string[] = []
  let begun = (): void => {}
  const starting = new Promise<void>((resolve) => (begun = resolve))
  let finished = false
  const context = {
    runtime: {
      name: 'fake',
      containersOf: () => [],
      sandboxesOf: () => [],
      // It takes longer than the status of a start waits for a newer one.
      runSandbox: () => {
        begun()
        return new Promise((resolve) => setTimeout(resolve, 500, { id: 's', ips: [] }))
      },
    },
    clock: systemClock,
    log: silentLog,
    events: { event: () => {} },
    reader: { runtimeHandler: async () => '' },
    volumes: { podFolder: () => '/nonexistent', prepare: async () => {}, changes: () => false },
    volumeRemoval: { remove: async () => true },
    dynamicResources: { prepare: async () => {}, unprepare: async () => {} },
    writer: {
      newest: (p: Pod) => p,
      set: () => told.push('set'),
      forget: () => told.push('forget'),
    },
    clusterDomain: 'cluster.local',
    dnsOf: () => noDns,
    nodeAddress: '127.0.0.1',
    allocatable: {},
    backoff: { initialMs: 1, maxMs: 1 },
    admit: async () => undefined,
    onFinished: () => {
      finished = true
    },
    onRoom: () => {},
  } as unknown as PodContext
  const worker = new PodWorker(context, pod)
  worker.wake()
  await starting
  worker.disappear()
  await eventually('its end', () => finished)
  t.same(told, ['forget'])
})
