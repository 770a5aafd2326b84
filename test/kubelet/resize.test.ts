/** Resources of Pods that change while they run. Upstream: pkg/kubelet/allocation. */
import t from 'tap'
import { resources } from '#client/resources.js'
import type { Pod, Resources } from '#kubelet/pod.js'
import { eventually } from '../eventually.js'
import { containerdMissing, imageName, startContainerd } from './containerd.js'
import { script, startNode, type TestNode } from './node.js'

const ask = (node: TestNode, name: string, wanted: Resources) =>
  node.client.patch(
    resources.pods,
    { namespace: 'default', name },
    { spec: { containers: [{ name: 'main', resources: wanted }] } },
    { type: 'strategic', subresource: 'resize' },
  )
const main = (pod: Pod) => pod.status!.containerStatuses![0]!
const conditionOf = (pod: Pod, type: string) =>
  pod.status?.conditions?.find((condition) => condition.type === type)
/** It has what it asks for, and says so. */
const has = (wanted: Resources) => (pod: Pod) =>
  JSON.stringify(main(pod).resources) === JSON.stringify(wanted) &&
  JSON.stringify(main(pod).allocatedResources) === JSON.stringify(wanted.requests) &&
  conditionOf(pod, 'PodResizeInProgress') === undefined

t.test('where there is no room a Pod waits for it', async (t) => {
  const node = await startNode(t)
  const { status: nodeStatus } = await node.client.get(resources.nodes, { name: 'node-1' })
  const cores = Number(nodeStatus.allocatable.cpu)
  const cpu = (millis: number): Resources => ({ requests: { cpu: `${millis}m` } })
  const half = cores * 500
  await node.run('other', { ...script('exec sleep 8301.5'), resources: cpu(half) })
  await node.run('p', { ...script('exec sleep 8302.5'), resources: cpu(100) })
  await node.ready('other')
  await node.ready('p')
  await ask(node, 'p', cpu(half + 50))
  const waiting = await node.until('p', (pod) => conditionOf(pod, 'PodResizePending') !== undefined)
  t.match(conditionOf(waiting, 'PodResizePending'), {
    status: 'True',
    reason: 'Deferred',
    message: `Node didn't have enough resource: cpu, requested: ${half + 50}, used: ${half}, capacity: ${cores * 1000}`,
    observedGeneration: 2,
  })
  t.match(main(waiting), { allocatedResources: { cpu: '100m' }, resources: cpu(100) })
  await node.delete('other', 1)
  const resized = await node.until('p', has(cpu(half + 50)))
  t.equal(main(resized).restartCount, 0)
  t.equal(conditionOf(resized, 'PodResizePending'), undefined)
  const reasons = await eventually('its events', async () => {
    const all = (await node.events('p')).filter(({ reason }) => reason.startsWith('Resize'))
    return all.length === 3 && all.map(({ reason, message }) => [reason, message])
  })
  const told = `{"containers":[{"name":"main","resources":{"requests":{"cpu":"${half + 50}m"}}}],"generation":2`
  t.match(Object.fromEntries(reasons), {
    ResizeDeferred: `Pod resize Deferred: ${told},"error":"Node didn't have enough resource: cpu`,
    ResizeStarted: `Pod resize started: ${told}}`,
    ResizeCompleted: `Pod resize completed: ${told}}`,
  })
})

t.test('as containers of a real runtime feel it', { skip: containerdMissing }, async (t) => {
  const containerd = await startContainerd()
  t.teardown(() => containerd.stop())
  const node = await startNode(t, { kubelet: 'process', endpoint: containerd.endpoint })
  const kubelet = await node.startProcess([], ['--leave-pods-running'])
  const of = (cpu: string, memory: string): Resources => ({
    limits: { cpu, memory },
    requests: { cpu, memory },
  })
  const read =
    'cd /sys/fs/cgroup; cat cpu/cpu.cfs_quota_us memory/memory.limit_in_bytes 2>/dev/null || cat cpu.max memory.max'
  const text = `trap "exit 0" TERM; while :; do (${read}) >/tmp/now; cmp -s /tmp/now /tmp/then || { tr "\\n" " " </tmp/now; echo; mv /tmp/now /tmp/then; }; sleep 0.1; done`
  const feels = (quota: number, megabytes: number) =>
    eventually(`${quota} and ${megabytes} MiB`, async () => {
      const last = (await node.logs('p')).trim().split('\n').at(-1) ?? ''
      return new RegExp(`^${quota}( 100000)? ${megabytes * 2 ** 20} *$`).test(last)
    })
  await node.run(
    'p',
    {
      ...script(text),
      image: imageName,
      resources: of('100m', '64Mi'),
      resizePolicy: [
        { resourceName: 'cpu', restartPolicy: 'NotRequired' },
        { resourceName: 'memory', restartPolicy: 'RestartContainer' },
      ],
    },
    { terminationGracePeriodSeconds: 2 },
  )
  await node.ready('p')
  await feels(10_000, 64)
  await ask(node, 'p', of('200m', '64Mi'))
  t.equal(main(await node.until('p', has(of('200m', '64Mi')))).restartCount, 0)
  await feels(20_000, 64)
  await ask(node, 'p', of('200m', '96Mi'))
  const restarted = await node.until('p', has(of('200m', '96Mi')))
  t.equal(main(restarted).restartCount, 1)
  await feels(20_000, 96)

  const gone = new Promise((resolve) => kubelet.once('exit', resolve))
  kubelet.kill('SIGTERM')
  await gone
  await ask(node, 'p', of('300m', '96Mi'))
  await node.startProcess()
  t.equal(main(await node.until('p', has(of('300m', '96Mi')))).restartCount, 1)
  await feels(30_000, 96)
  await node.delete('p')
  await node.gone('p')

  // One that has no limits of its own lives on those of its Pod.
  await node.run('p', { ...script(text), image: imageName }, wholePod(100, 64))
  await node.ready('p')
  await feels(10_000, 64)
  await askWhole(node, 'p', wholePod(200, 96))
  await feels(20_000, 96)
  await node.delete('p')
  await node.gone('p')
})

const wholePod = (millis: number, megabytes: number) => {
  const amounts = { cpu: `${millis}m`, memory: `${megabytes}Mi` }
  return { resources: { limits: amounts, requests: amounts }, terminationGracePeriodSeconds: 2 }
}
const askWhole = (node: TestNode, name: string, { resources: wanted }: { resources: Resources }) =>
  node.client.patch(
    resources.pods,
    { namespace: 'default', name },
    { spec: { resources: wanted } },
    { type: 'strategic', subresource: 'resize' },
  )

t.test('a status tells what the Pod has of its node, as a whole', async (t) => {
  const node = await startNode(t)
  const sleeps = script('exec sleep 8303.5')
  const of = (cpu: string, memory: string): Resources => ({ requests: { cpu, memory } })
  await node.run(
    'sum',
    { ...sleeps, resources: { limits: { cpu: '300m' } } },
    {
      initContainers: [
        { name: 'init', image: 'i', ...script('true'), resources: of('500m', '16Mi') },
        {
          name: 'side',
          image: 'i',
          ...sleeps,
          restartPolicy: 'Always',
          resources: of('50m', '1Gi'),
        },
      ],
    },
  )
  t.match((await node.ready('sum')).status, {
    allocatedResources: { cpu: '500m', memory: '1Gi' },
    resources: { limits: { cpu: '300m' }, requests: { cpu: '500m', memory: '1Gi' } },
  })
  await node.run('none', sleeps)
  const none = (await node.ready('none')).status!
  t.same([none.allocatedResources, none.resources], [undefined, {}])

  await node.run('whole', sleeps, wholePod(100, 64))
  await node.ready('whole')
  await askWhole(node, 'whole', wholePod(200, 96))
  const resized = await node.until(
    'whole',
    ({ status }) => status?.resources?.limits?.memory === '96Mi',
  )
  t.same(resized.status!.allocatedResources, { cpu: '200m', memory: '96Mi' })
  // What is asked for of memory is nothing that the kernel knows: that it was more stays unsaid, as upstream.
  t.same(resized.status!.resources, {
    limits: { cpu: '200m', memory: '96Mi' },
    requests: { cpu: '200m', memory: '64Mi' },
  })
  await eventually('the event', async () =>
    (await node.events('whole')).some(({ reason }) => reason === 'ResizeCompleted'),
  )
  const { cpu } = (await node.client.get(resources.nodes, { name: 'node-1' })).status.allocatable
  await askWhole(node, 'whole', wholePod(Number(cpu) * 1000, 96))
  const waiting = await node.until(
    'whole',
    (pod) => conditionOf(pod, 'PodResizePending') !== undefined,
  )
  t.equal(conditionOf(waiting, 'PodResizePending')!.reason, 'Deferred')
  t.same(waiting.status!.allocatedResources, { cpu: '200m', memory: '96Mi' })
})
