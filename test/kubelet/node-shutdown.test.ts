/** A node that goes down for good: how its Pods end, in which order, and what is said of them and of it. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import t from 'tap'
import { resources } from '#client/resources.js'
import { endInGroups, shutdownGroups } from '#kubelet/node/node-shutdown.js'
import type { Pod } from '#kubelet/pod.js'
import { eventually } from '../eventually.js'
import { script, startNode } from './node.js'

const polite = script('trap "exit 0" TERM; echo up; while :; do sleep 0.05; done')
const message = 'Pod was terminated in response to imminent node shutdown.'
const disruptionOf = ({ status }: Pod) =>
  status!.conditions!.find(({ type }) => type === 'DisruptionTarget')

t.test('Pods of a node that goes down end as failed, critical ones last', async (t) => {
  const node = await startNode(t, { kubelet: 'process' })
  // The critical ones hold the kubelet until everything has been seen.
  const times = ['--shutdown-grace-period=600s', '--shutdown-grace-period-critical-pods=300s']
  const kubelet = await node.startProcess([], times)
  const exited = new Promise((resolve) => kubelet.once('exit', resolve))
  const [pid, early, asked, go] = ['pid', 'early', 'asked', 'go'].map((name) =>
    path.join(node.folder, name),
  ) as [string, string, string, string]
  const loop = 'while :; do sleep 0.05; done'
  const deaf = script(`trap "" TERM; echo $$$$ >${pid}; echo up; ${loop}`)
  const looks = `kill -0 $(cat ${pid}) && touch ${early}; touch ${asked}`
  const patient = script(
    `trap '${looks}' TERM; echo up; until [ -e ${go} ]; do sleep 0.05; done; kill -9 $$$$`,
  )
  const critical = { priorityClassName: 'system-node-critical' } as object
  await node.run('deaf', deaf, { terminationGracePeriodSeconds: 1 })
  await node.run('polite', polite, critical)
  await node.run('critical', patient, critical)
  for (const name of ['deaf', 'polite', 'critical']) {
    await node.ready(name)
    await eventually('its trap', async () => (await node.logs(name)) !== '')
  }
  const over = (name: string) =>
    node.until(name, ({ status }) => status?.phase === 'Failed' || status?.phase === 'Succeeded')
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
  await eventually('the turn of the critical ones', () => existsSync(asked))
  t.match(readFileSync(pid, 'utf8'), /^\d+\n$/)
  t.notOk(existsSync(early), 'the others have ended before')
  writeFileSync(go, '')
  const [deafOne, politeOne, criticalOne] = await all
  await exited
  for (const pod of [deafOne!, criticalOne!]) {
    t.match(pod.status, { phase: 'Failed', reason: 'Terminated', message })
    t.match(pod.status!.containerStatuses![0]!.state.terminated, { exitCode: 137 })
  }
  // It has succeeded, whyever it was ended.
  t.equal(politeOne!.status!.phase, 'Succeeded')
  t.equal(politeOne!.status!.reason, undefined)
  for (const pod of [deafOne!, politeOne!, criticalOne!])
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

t.test('none has more time than its group, nor than its own grace', async (t) => {
  const worker = (terminationGracePeriodSeconds?: number) => ({
    pod: { spec: { containers: [], terminationGracePeriodSeconds } } as never as Pod,
  })
  const graces: number[] = []
  await endInGroups(
    [
      { members: [worker(30), worker(3), worker()], seconds: 20 },
      { members: [worker(30)], seconds: 10 },
    ],
    async (_, seconds) => void graces.push(seconds),
  )
  t.same(graces, [20, 3, 20, 10])
})
