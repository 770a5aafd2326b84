/** The final status of a Pod whose volumes a driver holds for a while. */
import t from 'tap'
import { systemClock } from '#api/clock.js'
import { conditionOf } from '#api/conditions.js'
import { silentLog } from '#client/log.js'
import type { Pod, PodStatus } from '#kubelet/pod.js'
import type { PodContext } from '#kubelet/pod-context.js'
import { PodWorker } from '#kubelet/pod-worker.js'
import { eventually } from '../eventually.js'

t.test('a Pod that has failed for want of another end says so once', async (t) => {
  const pod = {
    kind: 'Pod',
    apiVersion: 'v1',
    metadata: { name: 'p', namespace: 'ns', uid: 'u', deletionTimestamp: '2026-01-01T00:00:00Z' },
    spec: { containers: [{ name: 'main', image: 'x' }] },
    status: { phase: 'Pending' },
  } as unknown as Pod
  let release = (_: boolean): void => {}
  const released = new Promise<boolean>((resolve) => (release = resolve))
  const told: { status: PodStatus; finished: boolean }[] = []
  const context = {
    runtime: { name: 'fake', containersOf: () => [], sandboxesOf: () => [] },
    clock: systemClock,
    log: silentLog,
    volumes: { podFolder: () => '/nonexistent' },
    volumeRemoval: { remove: () => released },
    dynamicResources: { unprepare: async () => {} },
    writer: {
      newest: (p: Pod) => p,
      set: (_: Pod, status: PodStatus, finished: boolean) => told.push({ status, finished }),
    },
    nodeAddress: '127.0.0.1',
    allocatable: {},
    backoff: { initialMs: 1, maxMs: 1 },
  } as unknown as PodContext
  const worker = new PodWorker(context, pod)
  worker.wake()
  await eventually('its end', () => told.at(-1)?.status.phase === 'Failed')
  release(true)
  await eventually('the end of its volumes', () => told.at(-1)?.finished)
  const [first, ...others] = told.filter(({ status }) => status.phase === 'Failed')
  t.ok(others.length > 0)
  t.match(conditionOf(first!, 'Ready'), { status: 'False', reason: 'ContainersNotReady' })
  for (const { status } of others) t.same(status, first!.status)
})
