/** Whether a status tells of a container's end before it tells of what follows from it. */
import t from 'tap'
import { systemClock } from '#api/clock.js'
import { silentLog } from '#client/log.js'
import { noDns } from '#kubelet/environment/pod-dns.js'
import type { Pod, PodStatus } from '#kubelet/pod.js'
import type { PodContext } from '#kubelet/pod-context.js'
import { PodWorker } from '#kubelet/pod-worker.js'
import type { Container } from '#kubelet/runtime.js'
import { hashOf } from '#kubelet/start-container.js'
import { eventually } from '../eventually.js'

t.test('an end is told before its container starts again', async (t) => {
  const spec = { name: 'main', image: 'x' }
  const pod = {
    kind: 'Pod',
    apiVersion: 'v1',
    metadata: { name: 'p', namespace: 'ns', uid: 'u' },
    spec: { containers: [spec] },
  } as unknown as Pod
  const running = {
    ...{ id: 'c', name: 'main', attempt: 0, hash: hashOf(spec), state: 'running' },
    ...{ startedAt: 1, finishedAt: 2, exitCode: 3, reason: '', message: '', pod: { uid: 'u' } },
  } as Container
  let container = running
  const told: (string | undefined)[] = []
  const context = {
    runtime: {
      name: 'fake',
      containersOf: () => [container],
      sandboxesOf: () => [{ id: 's', ready: true, ips: [], attempt: 0 }],
    },
    clock: systemClock,
    log: silentLog,
    events: { event: () => {} },
    // Its container cannot be made.
    volumes: { podFolder: () => '/nonexistent', prepare: async () => {}, changes: () => false },
    writer: {
      newest: (p: Pod) => p,
      set: (_: Pod, status: PodStatus) => {
        told.push(Object.keys(status.containerStatuses![0]!.state)[0])
        // Only then does the writer write it.
        setImmediate(() => told.push('written'))
      },
      forget: () => {},
    },
    dnsOf: () => noDns,
    nodeAddress: '127.0.0.1',
    allocatable: {},
    backoff: { initialMs: 1, maxMs: 1 },
    admit: async () => undefined,
    onRoom: () => {},
  } as unknown as PodContext
  const worker = new PodWorker(context, pod)
  t.teardown(() => worker.halt(0))
  worker.wake()
  await eventually('its start', () => told.includes('written'))
  container = { ...running, state: 'exited' }
  worker.wake()
  await eventually('what follows', () => told.includes('waiting'))
  t.same(told.slice(0, 5), ['running', 'written', 'terminated', 'written', 'waiting'])
})
