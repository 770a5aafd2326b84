/** How a runtime is asked for all that it has, when it answers slowly or something goes meanwhile. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { Server, ServerCredentials, type sendUnaryData, status } from '@grpc/grpc-js'
import t from 'tap'
import { systemClock } from '#api/clock.js'
import { silentLog } from '#client/log.js'
import { loadService } from '#kubelet/grpc/rpc-client.js'
import { CriRuntime } from '#kubelet/runtime/cri/cri-runtime.js'
import { criFacts } from '#kubelet/runtime/cri/cri-types.js'
import { eventually } from '../eventually.js'

const rowOf = (uid: string) => ({
  id: `c-${uid}`,
  metadata: { name: 'c', attempt: 0 },
  image: { image: 'x' },
  state: 0,
  labels: { 'io.kubernetes.pod.uid': uid },
})

t.test(
  'a slow runtime is asked once more for all who wait, and may have lost something',
  async (t) => {
    const folder = mkdtempSync(path.join(tmpdir(), 'kubelet-cri-'))
    t.teardown(() => rmSync(folder, { recursive: true }))
    let lists = 0
    let isSlow = false
    const held: (() => void)[] = []
    const server = new Server()
    type Answer = sendUnaryData<object>
    server.addService(loadService(criFacts, 'RuntimeService').service, {
      Version: (_: unknown, answer: Answer) => answer(null, { runtime_name: 'slow' }),
      ListPodSandbox: (_: unknown, answer: Answer) => answer(null, { items: [] }),
      ListContainers: (_: unknown, answer: Answer) => {
        lists++
        const reply = () => answer(null, { containers: ['gone', 'here'].map(rowOf) })
        if (isSlow) held.push(reply)
        else reply()
      },
      ContainerStatus: ({ request }: { request: { container_id: string } }, answer: Answer) =>
        request.container_id === 'c-gone'
          ? answer({ code: status.NOT_FOUND, details: 'no such container' })
          : answer(null, { status: { ...rowOf('here'), state: 1 } }),
      RemoveContainer: (_: unknown, answer: Answer) => answer(null, {}),
    })
    const endpoint = `unix://${path.join(folder, 'cri.sock')}`
    await new Promise<void>((resolve, reject) =>
      server.bindAsync(endpoint, ServerCredentials.createInsecure(), (error) =>
        error ? reject(error) : resolve(),
      ),
    )
    t.teardown(() => server.forceShutdown())
    const runtime = new CriRuntime({
      endpoint,
      root: path.join(folder, 'root'),
      clock: systemClock,
      log: silentLog,
      nodeName: 'n',
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
    await eventually('a look', () => held.length === 1)
    const before = lists
    isSlow = false
    held[0]!()
    await Promise.all(removals)
    t.ok(lists - before <= 2, `asked ${lists - before} times more`)
  },
)
