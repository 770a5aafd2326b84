/** What real containers write, and what a node of theirs does that runs short of its disk. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import t from 'tap'
import { systemClock } from '#api/clock.js'
import { silentLog } from '#client/log.js'
import { CriRuntime } from '#kubelet/runtime/cri/cri-runtime.js'
import { eventually } from '../eventually.js'
import { containerdMissing, imageName, startContainerd, userImageNames } from './containerd.js'
import { script, startNode } from './node.js'

const deaf = 'trap "" TERM; while :; do sleep 0.05; done'

t.test('storage of containers', { skip: containerdMissing }, async (t) => {
  const containerd = await startContainerd()
  t.teardown(() => containerd.stop())
  const { endpoint } = containerd
  const folder = mkdtempSync(path.join(tmpdir(), 'kl-runtime-'))
  const clock = systemClock
  const runtime = new CriRuntime({ endpoint, root: folder, clock, log: silentLog, nodeName: 'x' })
  await runtime.open(() => {})
  t.teardown(async () => {
    await runtime.close()
    rmSync(folder, { recursive: true })
  })
  const node = await startNode(t, { kubelet: 'process', endpoint })
  const first = await node.startProcess([], ['--leave-pods-running'])
  const gone = new Promise((resolve) => first.once('exit', resolve))
  const run = (name: string, text: string, resources = {}) =>
    node.run(name, { ...script(text), image: imageName, resources })

  // Its writable layer begins as a copy of the image here, of some 2 MB.
  await run('stays', deaf, { limits: { 'ephemeral-storage': '100Mi' } })
  await node.ready('stays')
  const limits = { 'ephemeral-storage': '20Mi' }
  const writing = 'while [ $((i++)) -lt 30 ]; do cat /bin/busybox >>/tmp/file; done'
  await run('writes', `${writing}; ${deaf}`, { limits })
  await run('logs', `while [ $((i++)) -lt 30 ]; do tr -dc "a-z\\n" </bin/busybox; done; ${deaf}`, {
    limits: { 'ephemeral-storage': '6Mi' },
  })
  const message = (size: string) =>
    `Pod ephemeral local storage usage exceeds the total limit of containers ${size}. `
  for (const [name, size] of Object.entries({ writes: '20Mi', logs: '6Mi' })) {
    const { status } = await node.until(name, (pod) => pod.status?.phase === 'Failed')
    t.match(status, { reason: 'Evicted', message: message(size) })
    t.match(status!.containerStatuses![0]!.state.terminated, { exitCode: 137 })
  }
  t.equal((await node.get('stays'))!.status!.phase, 'Running')

  t.ok(await runtime.findImage(userImageNames.web))
  first.kill('SIGTERM')
  await gone
  const pressed = '--eviction-hard=nodefs.available<100000Gi'
  const second = await node.startProcess([], [pressed, '--leave-pods-running'])
  const { status } = await node.until('stays', (pod) => pod.status?.phase === 'Failed')
  t.equal(status!.reason, 'Evicted')
  // It uses less than the hundred that it asks for by its limit, and goes all the same.
  t.match(
    status!.message,
    /^The node was low on resource: ephemeral-storage\. Threshold quantity: 100000Gi, available: \d+[KMG]i\. $/,
  )
  t.ok(status!.conditions!.some(({ type }) => type === 'DisruptionTarget'))
  t.ok(await runtime.findImage(userImageNames.web), 'it is known for less than two minutes')
  const secondGone = new Promise((resolve) => second.once('exit', resolve))
  second.kill('SIGTERM')
  await secondGone
  await node.startProcess([], [pressed, '--minimum-image-ttl-duration=1s'])
  // What has ended may be gone by now, and its image with it.
  await eventually(
    'images that nobody uses',
    async () => !(await runtime.findImage(userImageNames.web)),
  )
})
