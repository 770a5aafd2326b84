/** Who gets the room of a node of those that come together. */
import t from 'tap'
import { sleep } from '#async/sleep.js'
import { script, startNode } from './node.js'

t.test('of Pods that a kubelet finds together the oldest gets the room', async (t) => {
  const { run, until, startProcess } = await startNode(t, { kubelet: 'process' })
  const large = {
    ...script('while :; do sleep 0.1; done'),
    resources: { requests: { 'ephemeral-storage': '6Gi' } },
  }
  await run('z-first', large)
  // Their times are of whole seconds.
  await sleep(1_100)
  await run('a-second', large)
  await startProcess()
  await until('z-first', ({ status }) => status?.phase === 'Running')
  const { status } = await until('a-second', (one) => one.status?.phase === 'Failed')
  t.equal(status!.reason, 'OutOfephemeral-storage')
})
