/** Pods that are hard to end, and kubelets that have it hard: all end, and what was wrong is told. */
import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import path from 'node:path'
import t from 'tap'
import { systemClock } from '#api/clock.js'
import { silentLog } from '#client/log.js'
import type { Pod, PodStatus } from '#kubelet/pod.js'
import type { PodContext } from '#kubelet/pod-context.js'
import { PodWorker } from '#kubelet/pod-worker.js'
import type { Container, ContainerRuntime } from '#kubelet/runtime.js'
import { VolumeRemoval } from '#kubelet/volumes/volume-removal.js'
import type { Volumes } from '#kubelet/volumes/volumes.js'
import { eventually } from '../eventually.js'
import { processesWith, script, sleepFor, startNode } from './node.js'

t.test(
  'who forks, hides in sessions of its own and ignores SIGTERM ends all the same',
  async (t) => {
    const node = await startNode(t)
    const long = sleepFor(8201)
    const stubborn = `trap "" TERM; while :; do sleep ${long}; done`
    await node.run(
      'p',
      script(
        `trap "" TERM; setsid sh -c '${stubborn}' & sh -c '${stubborn}' & (setsid sh -c '${stubborn}' &) ; echo up; ${stubborn}`,
      ),
      { terminationGracePeriodSeconds: 1 },
    )
    await node.ready('p')
    await eventually('all of them', () => processesWith(`sleep ${long}`).length >= 4)
    await node.delete('p')
    await node.gone('p')
    t.same(processesWith(long), [])
  },
)

t.test('a volume that cannot be removed is reported, tried again, and holds nobody', async (t) => {
  const node = await startNode(t)
  // A mount in it, of which nobody knows. It goes with the namespace of the process that made it.
  const mount = 'mkdir "$CONTAINER_ROOT/data/deep"; mount -t tmpfs none "$CONTAINER_ROOT/data/deep"'
  const blocks = 'while :; do sleep 0.1; done'
  await node.run(
    'p',
    {
      ...script(`${mount} || echo refused; echo up; trap "exit 0" TERM; ${blocks}`),
      volumeMounts: [{ name: 'data', mountPath: '/data' }],
    },
    { volumes: [{ name: 'data', emptyDir: {} }] },
  )
  const { metadata } = await node.ready('p')
  const folder = path.join(node.folder, 'kubelet/pods', metadata.uid, 'volumes/data/deep')
  await eventually('its word', async () => (await node.logs('p')).includes('up'))
  t.teardown(() => spawnSync('umount', [folder]))
  const refused = (await node.logs('p')).includes('refused')
  await node.delete('p')
  await node.gone('p')
  const told = async () =>
    (await node.events('p')).find(({ reason }) => reason === 'FailedUnmount')?.message
  const skip = refused && 'nothing can be mounted here'
  t.match(refused || (await eventually('the event', told)), /EBUSY/, { skip })
  spawnSync('umount', [folder])
  const podFolder = path.join(node.folder, 'kubelet/pods', metadata.uid)
  await eventually('the folder to go', () => !existsSync(podFolder))
})

t.test('a removal that hangs does not hold its Pod', async (t) => {
  let end: () => void = () => {}
  const hangs = new Promise<void>((resolve) => (end = resolve))
  let attempts = 0
  const removal = new VolumeRemoval({
    volumes: {
      unmount: async () => {},
      remove: () => {
        attempts++
        return hangs
      },
    } as unknown as Volumes,
    events: { event: () => {}, flush: async () => {} },
    log: silentLog,
    signal: new AbortController().signal,
  })
  await removal.remove('uid')
  await removal.remove('uid')
  t.equal(attempts, 1, 'one attempt at a time')
  end()
})

for (const [word, offset] of [
  ['ahead of', 30_000],
  ['behind', -30_000],
] as const)
  t.test(`a kubelet whose clock is ${word} the server's counts the grace itself`, async (t) => {
    const node = await startNode(t, { kubelet: 'process' })
    const shift = `globalThis.Date = class extends Date {
      constructor(...given) { given.length === 0 ? super(Date.now()) : super(...given) }
      static now() { return super.now() + ${offset} }
    }`
    await node.startProcess(['--import', `data:text/javascript,${encodeURIComponent(shift)}`])
    const record = path.join(node.folder, 'ticks')
    await node.run(
      'p',
      script(
        `trap 'echo term >>"${record}"' TERM; echo up; while :; do sleep 0.1; echo tick >>"${record}"; done`,
      ),
      { terminationGracePeriodSeconds: 3 },
    )
    const pod = await node.ready('p')
    const skew = Date.parse(pod.status!.startTime!) - Date.parse(pod.metadata.creationTimestamp!)
    t.equal(Math.sign(skew), Math.sign(offset), 'its clock is wrong indeed')
    await eventually('its word', async () => (await node.logs('p')).includes('up'))
    const before = performance.now()
    await node.delete('p')
    await node.gone('p')
    const tookMs = performance.now() - before
    t.ok(tookMs >= 3_000, `not killed before its grace was over (${tookMs} ms)`)
    // Counted by the Pod, whose clock nobody has touched: ten a second at most.
    const ticks = (readFileSync(record, 'utf8').split('term\n')[1] ?? '').split('\n').length - 1
    t.ok(ticks < 200, `nor long after (${ticks} ticks)`)
  })

t.test(
  'what the runtime cannot end is tried again, and not called ended before it is',
  async (t) => {
    const pod = {
      kind: 'Pod',
      apiVersion: 'v1',
      metadata: { name: 'p', namespace: 'ns', uid: 'u', deletionTimestamp: '2026-01-01T00:00:00Z' },
      spec: { containers: [{ name: 'main', image: 'x' }], terminationGracePeriodSeconds: 1 },
      status: { phase: 'Running' },
    } as unknown as Pod
    let state: Container['state'] = 'running'
    const container = (): Container => ({
      ...{ id: 'c', sandboxId: 's', pod: { uid: 'u', namespace: 'ns', name: 'p' }, name: 'main' },
      ...{ attempt: 0, image: 'x', imageId: 'x', hash: '', createdAt: 1, startedAt: 1 },
      ...{ finishedAt: 2, exitCode: 137, reason: '', message: '', halted: false, pid: undefined },
      ...{ logPath: '', state },
    })
    let failuresLeft = 2
    const runtime = {
      name: 'fake',
      containersOf: () => [container()],
      sandboxesOf: () => [{ id: 's', ips: [] }],
      stopSandbox: async () => {
        if (state === 'running') throw new Error('it is in use')
      },
      stopContainer: () => {
        const done = async () => {
          if (failuresLeft-- > 0) throw new Error('device or resource busy')
          state = 'exited'
        }
        return { done: done(), shorten: () => {} }
      },
    } as unknown as ContainerRuntime
    const said: { status: PodStatus; finished: boolean; failuresLeft: number }[] = []
    const events: string[] = []
    const context = {
      runtime,
      clock: systemClock,
      log: silentLog,
      events: {
        event: (_: unknown, type: string, reason: string, message: string) =>
          events.push(`${type} ${reason} ${message}`),
      },
      volumes: { podFolder: () => '/nonexistent' },
      volumeRemoval: { remove: async () => true },
      dynamicResources: { unprepare: async () => {} },
      writer: {
        newest: (p: Pod) => p,
        set: (_: Pod, status: PodStatus, finished: boolean) =>
          said.push({ status, finished, failuresLeft }),
      },
      nodeAddress: '127.0.0.1',
      allocatable: {},
      backoff: { initialMs: 1, maxMs: 1 },
      userAgent: 'test',
      admit: async () => undefined,
      onFinished: () => {},
    } as unknown as PodContext
    const worker = new PodWorker(context, pod)
    worker.wake()
    await eventually('the end', () => worker.state === 'terminated' && said.at(-1)?.finished)
    t.same(
      events.filter((event) => event.includes('FailedKillPod')),
      Array(2).fill(
        'Warning FailedKillPod error killing pod: [failed to "KillContainer" for "main" with KillContainerError: "device or resource busy", failed to "KillPodSandbox" for "u" with KillPodSandboxError: "it is in use"]',
      ),
    )
    for (const { status, finished, failuresLeft: left } of said)
      if (left >= 0)
        t.notOk(finished || status.phase !== 'Running', 'it runs as far as anybody knows')
    t.equal(said.at(-1)!.status.phase, 'Failed')
  },
)
