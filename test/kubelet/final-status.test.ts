/** What a Pod's status says of what has been: the end while a driver holds its volumes, and that it was initialized. */
import t from 'tap'
import { systemClock } from '#api/clock.js'
import { conditionOf } from '#api/conditions.js'
import { silentLog } from '#client/log.js'
import type { Pod, PodCondition, PodStatus } from '#kubelet/pod.js'
import type { PodContext } from '#kubelet/pod-context.js'
import { PodWorker } from '#kubelet/pod-worker.js'
import { makePodStatus } from '#kubelet/status/pod-status.js'
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

/** Of a Pod that runs, nothing of which is ready. */
const statusOf = (spec: object, more: object): PodStatus =>
  makePodStatus({
    pod: { metadata: { name: 'p', namespace: 'ns', uid: 'u' }, spec } as unknown as Pod,
    runtimeName: 'fake',
    containers: [],
    problems: new Map(),
    probes: { isReady: () => false, isStarted: () => false },
    resize: { conditions: [], actualOf: () => undefined, actual: (one: Pod) => one },
    ending: false,
    stopped: false,
    nodeAddress: '127.0.0.1',
    previous: {},
    now: 0,
    ...more,
  } as never)

t.test(
  'a Pod that was initialized stays so when its sidecar ends before its container starts',
  (t) => {
    const sidecar = { name: 'side', image: 'x', restartPolicy: 'Always' }
    const spec = { initContainers: [sidecar], containers: [{ name: 'main', image: 'x' }] }
    const initialized = (previous: PodStatus) =>
      conditionOf<PodCondition>({ status: statusOf(spec, { previous }) }, 'Initialized')
    const first = initialized({})
    t.match(first, { status: 'False', message: 'containers with incomplete status: [side]' })
    const was = { ...first!, status: 'True' } as PodCondition
    t.equal(initialized({ conditions: [was] })!.status, 'True')
    t.end()
  },
)

t.test('a container is said to have the user and the mounts that the runtime says', (t) => {
  const mount = { name: 'v', readOnly: true, recursiveReadOnly: 'IfPossible' }
  const volumeMounts = [
    { ...mount, mountPath: '/all' },
    { ...mount, mountPath: '/top' },
  ]
  const user = { uid: 7, gid: 8 }
  const times = { startedAt: 0, finishedAt: 0 }
  const main = { name: 'main', state: 'running', user, recursiveReadOnly: ['/all'], ...times }
  const { containerStatuses } = statusOf(
    { containers: [{ name: 'main', image: 'x', volumeMounts }] },
    { containers: [main] },
  )
  t.match(containerStatuses, [
    {
      user: { linux: user },
      volumeMounts: [{ recursiveReadOnly: 'Enabled' }, { recursiveReadOnly: 'Disabled' }],
    },
  ])
  t.end()
})
