/** How a runtime is asked for all that it has, when it answers slowly or something goes meanwhile. */
import { mkdtempSync, readdirSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import {
  Server,
  ServerCredentials,
  type sendUnaryData,
  status,
  type UntypedServiceImplementation,
} from '@grpc/grpc-js'
import t, { type Test } from 'tap'
import { systemClock } from '#api/clock.js'
import { silentLog } from '#client/log.js'
import { loadService } from '#kubelet/grpc/rpc-client.js'
import { CriRuntime } from '#kubelet/runtime/cri/cri-runtime.js'
import { criFacts } from '#kubelet/runtime/cri/cri-types.js'
import { limits } from '#limits'
import { eventually } from '../eventually.js'

type Answer = sendUnaryData<object>
interface StatusCall {
  readonly request: { readonly container_id: string }
}

const rowOf = (uid: string) => ({
  id: `c-${uid}`,
  metadata: { name: 'c', attempt: 0 },
  image: { image: 'x' },
  state: 0,
  labels: { 'io.kubernetes.pod.uid': uid },
})

/** A runtime of these answers, and the kubelet's side of it. */
const startRuntime = async (t: Test, answers: UntypedServiceImplementation) => {
  const folder = mkdtempSync(path.join(tmpdir(), 'kubelet-cri-'))
  t.teardown(() => rmSync(folder, { recursive: true }))
  const server = new Server({ 'grpc.max_send_message_length': -1 })
  server.addService(loadService(criFacts, 'RuntimeService').service, {
    Version: (_: unknown, answer: Answer) => answer(null, { runtime_name: 'slow' }),
    Status: (_: unknown, answer: Answer) => answer(null, {}),
    ListPodSandbox: (_: unknown, answer: Answer) => answer(null, { items: [] }),
    ...answers,
  })
  const endpoint = `unix://${path.join(folder, 'cri.sock')}`
  await new Promise<void>((resolve, reject) =>
    server.bindAsync(endpoint, ServerCredentials.createInsecure(), (error) =>
      error ? reject(error) : resolve(),
    ),
  )
  t.teardown(() => server.forceShutdown())
  const root = path.join(folder, 'root')
  return new CriRuntime({ endpoint, root, clock: systemClock, log: silentLog, nodeName: 'n' })
}

t.test(
  'a slow runtime is asked once more for all who wait, and may have lost something',
  async (t) => {
    let lists = 0
    let removed = 0
    let isSlow = false
    const held: (() => void)[] = []
    const runtime = await startRuntime(t, {
      ListContainers: (_: unknown, answer: Answer) => {
        lists++
        const reply = () => answer(null, { containers: ['gone', 'here'].map(rowOf) })
        if (isSlow) held.push(reply)
        else reply()
      },
      ContainerStatus: ({ request }: StatusCall, answer: Answer) =>
        request.container_id === 'c-gone'
          ? answer({ code: status.NOT_FOUND, details: 'no such container' })
          : answer(null, { status: { ...rowOf('here'), state: 1 } }),
      RemoveContainer: (_: unknown, answer: Answer) => {
        removed++
        answer(null, {})
      },
    })
    await runtime.open(() => {})
    t.teardown(() => runtime.close())
    t.same(
      runtime.containers().map(({ id }) => id),
      ['c-here'],
      'one that has gone since it was listed hides no others',
    )
    isSlow = true
    const removals = Array.from({ length: 20 }, () => runtime.removeContainer('c-x'))
    await eventually('a look behind all', () => removed === 20 && held.length === 1)
    const before = lists
    isSlow = false
    held[0]!()
    await Promise.all(removals)
    t.ok(lists - before <= 2, `asked ${lists - before} times more`)
  },
)

t.test(
  'a container of which the runtime cannot tell keeps nobody from what happens to others',
  async (t) => {
    let state = 1
    let isBroken = true
    const runtime = await startRuntime(t, {
      ListContainers: (_: unknown, answer: Answer) =>
        answer(null, { containers: ['a', 'broken', 'b'].map((uid) => ({ ...rowOf(uid), state })) }),
      ContainerStatus: ({ request: { container_id: id } }: StatusCall, answer: Answer) =>
        id === 'c-broken' && isBroken
          ? answer({ code: status.UNKNOWN, details: 'its files are damaged' })
          : answer(null, { status: { id, state } }),
    })
    const changed: string[] = []
    await runtime.open((uid) => changed.push(uid))
    t.teardown(() => runtime.close())
    state = 2
    await eventually('both ends', () => changed.length === 2)
    t.same(changed, ['a', 'b'])
    isBroken = false
    await eventually('the third', () => changed.includes('broken'))
  },
)

t.test(
  'many Pods with long annotations are no longer an answer than the runtime may give',
  async (t) => {
    // As annotations the test's runtime does not know them.
    const labels = { long: 'x'.repeat(256 * 1024) }
    const sandboxes = Array.from({ length: 20 }, (_, i) => ({
      ...{ id: `s-${i}`, metadata: { uid: `${i}`, name: 'p', namespace: 'n' }, labels },
    }))
    const runtime = await startRuntime(t, {
      ListPodSandbox: (_: unknown, answer: Answer) => answer(null, { items: sandboxes }),
      ListContainers: (_: unknown, answer: Answer) => answer(null, { containers: [] }),
      PodSandboxStatus: (_: unknown, answer: Answer) => answer(null, { status: {} }),
    })
    await runtime.open(() => {})
    t.teardown(() => runtime.close())
    t.equal(runtime.sandboxes().length, 20)
  },
)

t.test('a runtime is told of no grace that it or gRPC could not count', async (t) => {
  const graces: number[] = []
  const runtime = await startRuntime(t, {
    ListContainers: (_: unknown, answer: Answer) =>
      answer(null, { containers: [{ ...rowOf('a'), state: 1 }] }),
    ContainerStatus: (_: unknown, answer: Answer) =>
      answer(null, { status: { id: 'c-a', state: 1 } }),
    StopContainer: ({ request }: { request: { timeout: number } }, answer: Answer) => {
      graces.push(request.timeout)
      answer(null, {})
    },
  })
  await runtime.open(() => {})
  t.teardown(() => runtime.close())
  const yearSeconds = 31_536_000
  for (const seconds of [yearSeconds, Number.MAX_SAFE_INTEGER])
    await runtime.stopContainer('c-a', { graceMs: seconds * 1000 }).done
  t.same(graces, [yearSeconds, 2 ** 31 - 1])
})

t.test(
  'a log that has become too long is put aside, and one whose file is missing made anew',
  async (t) => {
    const folder = t.testdir({ long: '', short: 'x' })
    truncateSync(path.join(folder, 'long'), limits.containerLogBytesMax + 1)
    const names = ['long', 'missing', 'short']
    const reopened: string[] = []
    const runtime = await startRuntime(t, {
      ListContainers: (_: unknown, answer: Answer) =>
        answer(null, { containers: names.map((uid) => ({ ...rowOf(uid), state: 1 })) }),
      ContainerStatus: ({ request: { container_id: id } }: StatusCall, answer: Answer) =>
        answer(null, { status: { id, state: 1, log_path: path.join(folder, id.slice(2)) } }),
      ReopenContainerLog: ({ request: { container_id: id } }: StatusCall, answer: Answer) => {
        reopened.push(id)
        if (id === 'c-missing') return answer({ code: status.UNKNOWN, details: 'not now' })
        writeFileSync(path.join(folder, id.slice(2)), '')
        answer(null, {})
      },
      RemoveContainer: (_: unknown, answer: Answer) => answer(null, {}),
    })
    await runtime.open(() => {})
    t.teardown(() => runtime.close())
    // One that could not be opened anew is tried again later.
    await eventually('both', () => reopened.length >= 2)
    t.same(reopened.slice(0, 2), ['c-long', 'c-missing'])
    t.same(readdirSync(folder).sort(), ['long', 'long.1', 'short'])
    await runtime.removeContainer('c-long')
    t.same(readdirSync(folder), ['short'])
  },
)

t.test('what a newer runtime says of its handlers and of its containers', async (t) => {
  const features = { recursive_read_only_mounts: true, user_namespaces: false }
  const runtime = await startRuntime(t, {
    Status: (_: unknown, answer: Answer) =>
      answer(null, { runtime_handlers: [{ name: '', features }, { name: 'old' }] }),
    ListContainers: (_: unknown, answer: Answer) => answer(null, { containers: [rowOf('a')] }),
    ContainerStatus: (_: StatusCall, answer: Answer) =>
      answer(null, {
        status: {
          state: 1,
          user: { linux: { uid: 7, gid: 8, supplemental_groups: [9] } },
          mounts: [
            { container_path: '/all', readonly: true, recursive_read_only: true },
            { container_path: '/top', readonly: true },
          ],
        },
      }),
  })
  await runtime.open(() => {})
  t.teardown(() => runtime.close())
  t.same(runtime.handlers, [
    { name: '', features: { recursiveReadOnlyMounts: true, userNamespaces: false } },
    { name: 'old', features: { recursiveReadOnlyMounts: false, userNamespaces: false } },
  ])
  t.match(runtime.containersOf('a'), [
    { user: { uid: 7, gid: 8, supplementalGroups: [9] }, recursiveReadOnly: ['/all'] },
  ])
})
