/** A node that goes down for good: how its Pods end, in which order, and what is said of them and of it. */
import t from 'tap'
import { resources } from '#client/resources.js'
import { shutdownGroups } from '#kubelet/node/node-shutdown.js'
import type { Pod } from '#kubelet/pod.js'
import { eventually } from '../eventually.js'
import { script, startNode } from './node.js'

const deaf = script('trap "" TERM; echo up; while :; do sleep 0.05; done')
const polite = script('trap "exit 0" TERM; echo up; while :; do sleep 0.05; done')
const message = 'Pod was terminated in response to imminent node shutdown.'
const disruptionOf = ({ status }: Pod) =>
  status!.conditions!.find(({ type }) => type === 'DisruptionTarget')

t.test('Pods of a node that goes down end as failed, critical ones last', async (t) => {
  const node = await startNode(t, { kubelet: 'process' })
  const times = ['--shutdown-grace-period=6s', '--shutdown-grace-period-critical-pods=3s']
  const kubelet = await node.startProcess([], times)
  const exited = new Promise((resolve) => kubelet.once('exit', resolve))
  await node.run('deaf', deaf)
  await node.run('polite', polite)
  await node.run('critical', deaf, { priorityClassName: 'system-node-critical' } as object)
  for (const name of ['deaf', 'polite', 'critical']) {
    await node.ready(name)
    await eventually('its trap', async () => (await node.logs(name)) !== '')
  }
  const ended: string[] = []
  const over = (name: string) =>
    node
      .until(name, ({ status }) => status?.phase === 'Failed' || status?.phase === 'Succeeded')
      .then((pod) => {
        ended.push(name)
        return pod
      })
  const all = Promise.all(['deaf', 'polite', 'critical'].map(over))
  const refused = node.until('late', ({ status }) => status?.phase === 'Failed')
  kubelet.kill('SIGTERM')
  const notReady = await node.untilNode((ready) => ready?.status === 'False')
  t.match(notReady, { reason: 'KubeletNotReady', message: 'node is shutting down' })
  await node.run('late', polite)
  const late = await refused
  t.match(late.status, {
    reason: 'NodeShutdown',
    message: 'Pod was rejected: Pod was rejected as the node is shutting down.',
  })
  const [deafOne, politeOne, critical] = await all
  await exited
  t.equal(ended.at(-1), 'critical')
  for (const pod of [deafOne!, critical!]) {
    t.match(pod.status, { phase: 'Failed', reason: 'Terminated', message })
    t.match(pod.status!.containerStatuses![0]!.state.terminated, { exitCode: 137 })
  }
  // It has succeeded, whyever it was ended.
  t.equal(politeOne!.status!.phase, 'Succeeded')
  t.equal(politeOne!.status!.reason, undefined)
  for (const pod of [deafOne!, politeOne!, critical!])
    t.match(disruptionOf(pod), { status: 'True', reason: 'TerminationByKubelet', message })
  for (const name of ['deaf', 'polite', 'critical'])
    t.match(await node.get(name), { status: { phase: name === 'polite' ? 'Succeeded' : 'Failed' } })
  await eventually('its event', async () => {
    const { items } = await node.client.list({ ...resources.events, group: '' }, {})
    return items.some(
      ({ reason, involvedObject }) => reason === 'NodeShutdown' && involvedObject.kind === 'Node',
    )
  })
})

t.test('Pods end by their priority, each group in its share of the time', (t) => {
  const worker = (priority?: number) => ({
    pod: {
      spec: { containers: [], ...(priority === undefined ? {} : { priority }) },
    } as never as Pod,
  })
  const [plain, low, high, critical] = [
    worker(),
    worker(-5),
    worker(1_999_999_999),
    worker(2_000_001_000),
  ]
  const grace = { seconds: 30, criticalSeconds: 10 }
  t.same(shutdownGroups([plain, critical, low, high], grace), [
    { members: [plain, low, high], seconds: 20 },
    { members: [critical], seconds: 10 },
  ])
  t.same(shutdownGroups([critical], grace), [{ members: [critical], seconds: 10 }])
  t.same(shutdownGroups([], grace), [])
  t.end()
})
