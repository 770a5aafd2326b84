/**
 * A node is lost by the clock of the cluster (docs/your-operators-tests.md): what takes minutes of silence takes the seconds
 * in which a living kubelet would have renewed its Lease. Flags of the controller manager and tolerations are the defaults.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { conditionOf } from '#api/conditions.js'
import type { Node } from '#client/pod.js'
import { resources } from '#client/resources.js'
import { storiesTimeoutMs } from './play-cases-of-ci.js'
import { ClusterProcesses } from './processes.js'
import { isBound, isGoing, isGone, uidsOf } from './story.js'
import { World } from './world.js'

const skip = process.platform !== 'linux' && 'Pods are told apart by /proc'
const obeys = 'exit 0'

/** Wants the node that will be lost. */
const boundSpec = (world: World) =>
  world.podSpec(obeys, { nodeSelector: { 'kubernetes.io/hostname': 'node-lost' } })

/** Prefers it. */
const looseSpec = (world: World) =>
  world.podSpec(obeys, {
    affinity: {
      nodeAffinity: {
        preferredDuringSchedulingIgnoredDuringExecution: [
          {
            weight: 100,
            preference: {
              matchExpressions: [
                { key: 'kubernetes.io/hostname', operator: 'In', values: ['node-lost'] },
              ],
            },
          },
        ],
      },
    },
  })

const workload = (app: string, spec: object) => ({
  replicas: 1,
  selector: { matchLabels: { app } },
  template: { metadata: { labels: { app } }, spec },
})

const advance = (world: World, by: string) =>
  world.client.request({ method: 'POST', path: '/kubelevel/clock', body: { advance: by } })

/** Minutes go by until it holds. */
const untilInMinutes = (world: World, what: string, holds: () => unknown) =>
  world.until(what, async () => {
    if (holds()) return true
    await advance(world, '1m')
    await sleep(200)
    return false
  })

/** The nodes are heard of so many times more. */
const untilRenewed = async (world: World, times: number) => {
  for (const name of ['node-1', 'node-lost']) {
    const seen = new Set<string>()
    await world.until(`renewals of ${name}`, async () => {
      const lease = await world.client.get(resources.leases, { namespace: 'kube-node-lease', name })
      return seen.add(lease.spec!.renewTime).size > times
    })
  }
}

const ready = (world: World, node: string) => {
  const found = world.node(node) as Node | undefined
  return found && conditionOf(found, 'Ready')?.status
}
const webPods = (world: World) =>
  world.pods().filter(({ metadata }) => metadata.labels?.app === 'web')
const webOn = (world: World, node: string) =>
  webPods(world).find(({ spec }) => spec.nodeName === node)
const isReadyOn = (world: World, node: string) => {
  const pod = webOn(world, node)
  return pod !== undefined && world.isReady(pod.metadata.name)
}

t.setTimeout(storiesTimeoutMs)
t.test('a node is lost and found again as the clock is moved', { skip }, async (t) => {
  const lease = ['--node-lease-duration-seconds=4']
  const cluster = new ClusterProcesses({ flags: { kubelet: lease, lost: lease } })
  await cluster.start(['kubelet', 'lost', 'scheduler', 'controller-manager'])
  const world = new World(cluster, 'lost')
  t.teardown(async () => {
    await world.close()
    if (!t.passing()) {
      t.comment(cluster.output)
      // Whose kubelet the test has not started again.
      for (const { pid } of cluster.podProcesses()) process.kill(pid, 'SIGKILL')
    }
    const left = await cluster.close()
    if (left.length > 0) throw new Error(`left behind: ${left}`)
  })
  await world.open()
  for (const node of ['node-1', 'node-lost'])
    await world.until(node, () => ready(world, node) === 'True' && !world.node(node)!.spec.taints)
  await world.create(resources.pods, 'bystander', {
    spec: world.podSpec(obeys, { nodeName: 'node-1' }),
  })
  await world.create(resources.statefulSets, 'db', {
    spec: { serviceName: 'db', ...workload('db', boundSpec(world)) },
  })
  // Then the scheduler knows, too, that the node takes Pods, before it chooses one.
  await world.until('db-0 on its node', () => isBound(world, 'db-0'))
  await world.create(resources.deployments, 'web', { spec: workload('web', looseSpec(world)) })
  await world.until('all Pods', () =>
    ['bystander', 'db-0', webOn(world, 'node-lost')?.metadata.name ?? ''].every((name) =>
      world.isReady(name),
    ),
  )
  const first = uidsOf(world, 'db-0')[0]!

  await t.test('living nodes live through hours', async (t) => {
    const lost = new Set<string>()
    world.onChange = () => {
      for (const node of ['node-1', 'node-lost'])
        if (ready(world, node) !== 'True' || world.node(node)!.spec.taints) lost.add(node)
    }
    for (let hours = 0; hours < 10; hours++) {
      await advance(world, '1h')
      await untilRenewed(world, 1)
    }
    t.same([...lost], [])
    t.same([...world.gonePods], [])
    t.equal(world.everyPod.size, 3, 'all Pods are the first ones')
    world.onChange = () => {}
  })

  await t.test('a node that says nothing is lost, and its Deployment goes elsewhere', async (t) => {
    await cluster.end('lost')
    await untilInMinutes(world, 'the replacement', () => isReadyOn(world, 'node-1'))
    t.equal(ready(world, 'node-lost'), 'Unknown')
    await advance(world, '1h')
    await world.until('both are Terminating', () => isGoing(world, 'db-0'))
    t.ok(webOn(world, 'node-lost')!.metadata.deletionTimestamp)
    t.same(uidsOf(world, 'db-0'), [first], 'nobody takes the place of who may still run')
    t.ok(
      world.processes().some(({ uid }) => uid === first),
      'as it does',
    )
    t.equal(ready(world, 'node-1'), 'True')
    t.ok(world.isReady('bystander'))
  })

  await t.test('when it returns its Pods end, and the StatefulSet goes on', async (t) => {
    cluster.launch('lost')
    await world.until('the second db-0', () => world.isReady('db-0'))
    t.same(world.record('two'), [], 'there was never a second one beside the first')
    await world.until('the end of the first Pods', () => webOn(world, 'node-lost') === undefined)
    await world.until('the node', () => ready(world, 'node-lost') === 'True')
  })

  await t.test('a node that does not return is deleted, and its Pods with it', async (t) => {
    await world.create(resources.pods, 'tolerant', {
      spec: world.podSpec(obeys, {
        nodeName: 'node-lost',
        tolerations: [{ operator: 'Exists' }],
      }),
    })
    await world.until('tolerant', () => world.isReady('tolerant'))
    await cluster.end('lost')
    await untilInMinutes(world, 'the loss', () => ready(world, 'node-lost') === 'Unknown')
    await advance(world, '1h')
    t.notOk(isGoing(world, 'tolerant'))
    await world.delete(resources.nodes, 'node-lost')
    await untilInMinutes(world, 'the garbage collection', () => isGone(world, 'tolerant'))
    t.equal(ready(world, 'node-1'), 'True')
    t.ok(world.isReady('bystander'))
    // Ends what is left there.
    cluster.launch('lost')
    await world.until('the node', () => ready(world, 'node-lost') === 'True')
    await world.until(
      'its process',
      () => !world.processes().some(({ pod }) => pod === 'lost/tolerant'),
    )
  })
})
