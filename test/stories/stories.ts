/** The stories of how Pods die, each with the steps at which a process may be killed. Data and what a user does. */
import type { Pod } from '#client/pod.js'
import { resources } from '#client/resources.js'
import { containerStories } from './stories-of-containers.js'
import {
  isBound,
  isFinal,
  isGoing,
  isGone,
  recorded,
  type Step,
  type Story,
  uidsOf,
} from './story.js'
import type { World } from './world.js'

const obeys = 'echo term >>"$RECORDS/life"; sleep 0.3; exit 0'
const ignores = 'echo term >>"$RECORDS/life"'

const service = (world: World) =>
  world.create(resources.services, 'web', {
    spec: { selector: { app: 'web' }, ports: [{ port: 80, targetPort: 8080 }] },
  })

const ordinary: Story = {
  name: '1 delete',
  steps: [
    { name: 'created', holds: (w) => w.pod('web-0') !== undefined, ci: 'scheduler' },
    { name: 'bound', holds: (w) => isBound(w, 'web-0') },
    { name: 'ready', holds: (w) => w.isReady('web-0') },
    {
      name: 'endpoint ready',
      holds: (w) => w.endpoint(uidsOf(w, 'web-0')[0])?.ready === true,
    },
    { name: 'delete asked for', holds: (w) => isGoing(w, 'web-0'), ci: 'controller-manager' },
    {
      name: 'endpoint terminating',
      holds: (w) => w.endpoint(uidsOf(w, 'web-0')[0])?.terminating === true,
    },
    { name: 'preStop', holds: (w) => recorded(w, 'life', 'preStop'), ci: 'kubelet' },
    { name: 'SIGTERM', holds: (w) => recorded(w, 'life', 'term') },
    {
      name: 'final status',
      holds: (w) => isGoing(w, 'web-0') && isFinal(w, 'web-0'),
      ci: 'server',
    },
    { name: 'object gone', holds: (w) => isGone(w, 'web-0') },
  ],
  play: async (world) => {
    await service(world)
    const preStop = {
      exec: { command: ['sh', '-c', `echo preStop >>${world.folder}/life; sleep 0.4`] },
    }
    await world.create(resources.pods, 'web-0', {
      metadata: { name: 'web-0', namespace: world.namespace, labels: { app: 'web' } },
      spec: world.podSpec(obeys, {}, { lifecycle: { preStop } }),
    })
    await world.until('a ready endpoint', () => world.endpoint(uidsOf(world, 'web-0')[0])?.ready)
    await world.until('its trap', () => world.record('starts').length === 1)
    await world.delete(resources.pods, 'web-0')
    await world.until('the end of web-0', () => isGone(world, 'web-0'))
    const [uid] = uidsOf(world, 'web-0')
    await world.until('no endpoint of web-0', () => world.endpoint(uid) === undefined)
    const life = world.record('life')
    if (life.indexOf('preStop') !== 0) return [`preStop did not come first: ${life}`]
    if (!life.includes('term')) return ['no SIGTERM']
    return []
  },
}

const shorter: Story = {
  name: '2 shorter and forced',
  steps: [
    { name: 'both ready', holds: (w) => w.isReady('slow') && w.isReady('forced') },
    { name: 'delete asked for', holds: (w) => isGoing(w, 'slow'), ci: 'server' },
    { name: 'SIGTERM', holds: (w) => recorded(w, 'life', 'term') },
    {
      name: 'shortened',
      holds: (w) => w.pod('slow')?.metadata.deletionGracePeriodSeconds === 1,
    },
    { name: 'final status', holds: (w) => isGoing(w, 'slow') && isFinal(w, 'slow') },
    { name: 'slow gone', holds: (w) => isGone(w, 'slow') },
    { name: 'forced gone', holds: (w) => isGone(w, 'forced'), ci: 'kubelet' },
  ],
  play: async (world) => {
    for (const name of ['slow', 'forced']) {
      await world.create(resources.pods, name, { spec: world.podSpec(ignores) })
    }
    await world.until('both', () => world.isReady('slow') && world.isReady('forced'))
    await world.until('both traps', () => world.record('starts').length === 2)
    await world.delete(resources.pods, 'slow', { gracePeriodSeconds: 300 })
    await world.until('SIGTERM', () => recorded(world, 'life', 'term'))
    await world.delete(resources.pods, 'slow', { gracePeriodSeconds: 1 })
    await world.until('the end of slow', () => isGone(world, 'slow'))
    await world.delete(resources.pods, 'forced', { gracePeriodSeconds: 0 })
    await world.until('the end of forced', () => isGone(world, 'forced'))
    return []
  },
}

const statefulSet = (world: World, replicas: number) => ({
  spec: {
    replicas,
    serviceName: 'db',
    selector: { matchLabels: { app: 'db' } },
    template: { metadata: { labels: { app: 'db' } }, spec: world.podSpec(obeys) },
  },
})

const identities: Story = {
  name: '3 StatefulSet',
  steps: [
    { name: 'db-0 made', holds: (w) => w.pod('db-0') !== undefined },
    { name: 'db-0 ready', holds: (w) => w.isReady('db-0'), ci: 'controller-manager' },
    { name: 'db-1 ready', holds: (w) => w.isReady('db-1') },
    { name: 'db-1 delete asked for', holds: (w) => isGoing(w, 'db-1') },
    {
      name: 'db-1 got SIGTERM',
      holds: (w) => isGoing(w, 'db-1') && recorded(w, 'life', 'term'),
      ci: 'kubelet',
    },
    { name: 'db-1 gone', holds: (w) => uidsOf(w, 'db-1').some((uid) => w.gonePods.has(uid)) },
    { name: 'db-1 made again', holds: (w) => uidsOf(w, 'db-1').length > 1, ci: 'server' },
    {
      name: 'replacement ready',
      holds: (w) => uidsOf(w, 'db-1').length > 1 && w.isReady('db-1'),
    },
    {
      name: 'scaled down',
      holds: (w) => w.set('db')?.spec.replicas === 0,
    },
    {
      name: 'replacement ends',
      holds: (w) => uidsOf(w, 'db-1').length > 1 && isGoing(w, 'db-1'),
    },
    { name: 'db-0 ends', holds: (w) => isGoing(w, 'db-0'), ci: 'controller-manager' },
  ],
  play: async (world) => {
    await world.create(resources.statefulSets, 'db', statefulSet(world, 2))
    const ready = () => world.isReady('db-0') && world.isReady('db-1')
    await world.until('both members', ready)
    await world.until('both traps', () => world.record('starts').length === 2)
    await world.delete(resources.pods, 'db-1')
    await world.until('the replacement', () => uidsOf(world, 'db-1').length > 1 && ready())
    await world.patch(resources.statefulSets, 'db', { spec: { replicas: 0 } })
    let wrong: string[] = []
    await world.until('no members', () => {
      // From the top: the first may not be asked to go while the second is there.
      if (isGoing(world, 'db-0') && world.pod('db-1'))
        wrong = ['db-0 was ended before db-1 had gone']
      return world.pods().length === 0
    })
    await world.delete(resources.statefulSets, 'db')
    return wrong
  },
}

const isNodeReady = (world: World, status: string): boolean =>
  world
    .node('node-lost')
    ?.status?.conditions?.some(
      (c: { type: string; status: string }) => c.type === 'Ready' && c.status === status,
    ) ?? false
const isTainted = (world: World): boolean =>
  world.node('node-lost')?.spec.taints?.some((t: { effect: string }) => t.effect === 'NoExecute') ??
  false

const unreachable = 'node.kubernetes.io/unreachable'
/** Of a Pod for the second node. */
const awaySpec = (world: World) =>
  world.podSpec(obeys, { nodeSelector: { 'kubernetes.io/hostname': 'node-lost' } })

/** Its Pod tolerates little only now: a loaded machine could lose the node for a moment before. */
const endSecondNode = async (world: World, name: string): Promise<void> => {
  await world.cluster.end('lost')
  const tolerations = world
    .pod(name)!
    .spec.tolerations!.map((one) =>
      one.key === unreachable ? { ...one, tolerationSeconds: 1 } : one,
    )
  await world.patch(resources.pods, name, { spec: { tolerations } })
  await world.until('Terminating', () => isGoing(world, name))
}

/** A Pod on the second node whose kubelet is then killed. */
const loseNode = async (world: World): Promise<void> => {
  await world.until('the second node', () => isNodeReady(world, 'True') && !isTainted(world))
  await world.create(resources.pods, 'away', { spec: awaySpec(world) })
  await world.until('away', () => world.isReady('away'))
  await world.until('its trap', () => world.record('starts').length === 1)
  await endSecondNode(world, 'away')
}

const lostSteps: readonly Step[] = [
  { name: 'Pod ready', holds: (w) => w.isReady('away'), lostIsDown: true },
  {
    name: 'node Unknown',
    holds: (w) => w.everyPod.size > 0 && isNodeReady(w, 'Unknown'),
    lostIsDown: true,
    ci: 'controller-manager',
  },
  {
    name: 'node tainted',
    holds: (w) => w.everyPod.size > 0 && isTainted(w),
    lostIsDown: true,
    ci: 'server',
  },
  { name: 'Pod Terminating', holds: (w) => isGoing(w, 'away'), lostIsDown: true },
]

const lostNode: Story = {
  name: '4 node returns',
  twoNodes: true,
  steps: [
    ...lostSteps,
    { name: 'SIGTERM', holds: (w) => recorded(w, 'life', 'term'), ci: 'lost' },
    { name: 'final status', holds: (w) => isGoing(w, 'away') && isFinal(w, 'away') },
    { name: 'Pod gone', holds: (w) => isGone(w, 'away') },
  ],
  play: async (world) => {
    await loseNode(world)
    const wrong = world.processes().length === 0 ? ['the Pod ended without its kubelet'] : []
    world.cluster.launch('lost')
    await world.until('the end of away', () => isGone(world, 'away'))
    return wrong
  },
}

const outOfService: Story = {
  name: '4 out of service',
  twoNodes: true,
  long: true,
  steps: [
    ...lostSteps,
    {
      name: 'out of service',
      holds: (w) =>
        JSON.stringify(w.node('node-lost')?.spec.taints ?? []).includes('out-of-service'),
      lostIsDown: true,
    },
    { name: 'Pod gone', holds: (w) => isGone(w, 'away'), lostIsDown: true },
  ],
  play: async (world) => {
    await loseNode(world)
    const taint = {
      key: 'node.kubernetes.io/out-of-service',
      value: 'nodeshutdown',
      effect: 'NoExecute',
    }
    await world.patch(resources.nodes, 'node-lost', { spec: { taints: [taint] } })
    await world.until('the end of away', () => isGone(world, 'away'))
    world.cluster.launch('lost')
    await world.until('the node', () => isNodeReady(world, 'True'))
    await world.patch(resources.nodes, 'node-lost', { spec: { taints: null } })
    return []
  },
}

const nodeDeleted: Story = {
  name: '4 node deleted',
  twoNodes: true,
  long: true,
  steps: [
    ...lostSteps,
    {
      name: 'node gone',
      holds: (w) => w.everyPod.size > 0 && w.node('node-lost') === undefined,
      lostIsDown: true,
    },
    { name: 'Pod gone', holds: (w) => isGone(w, 'away'), lostIsDown: true },
  ],
  play: async (world) => {
    await loseNode(world)
    await world.delete(resources.nodes, 'node-lost')
    await world.until('the end of away', () => isGone(world, 'away'))
    world.cluster.launch('lost')
    await world.until('the node', () => isNodeReady(world, 'True'))
    return []
  },
}

const uidAway = (world: World) => uidsOf(world, 'db-0')[0]

/** At most one of an identity: nobody takes the place of who may still run (kubernetes#34160). */
const lostIdentity: Story = {
  name: '4 StatefulSet on a node that is lost',
  twoNodes: true,
  steps: [
    { name: 'ready', holds: (w) => w.isReady('db-0'), lostIsDown: true },
    {
      name: 'Terminating',
      holds: (w) => isGoing(w, 'db-0'),
      lostIsDown: true,
      ci: 'controller-manager',
    },
    { name: 'SIGTERM', holds: (w) => recorded(w, 'life', 'term'), ci: 'lost' },
    { name: 'made again', holds: (w) => uidsOf(w, 'db-0').length > 1, ci: 'server' },
  ],
  play: async (world) => {
    await world.until('the second node', () => isNodeReady(world, 'True') && !isTainted(world))
    const { spec } = statefulSet(world, 1)
    await world.create(resources.statefulSets, 'db', {
      spec: { ...spec, template: { ...spec.template, spec: awaySpec(world) } },
    })
    await world.until('db-0', () => world.isReady('db-0'))
    await world.until('its trap', () => world.record('starts').length === 1)
    await endSecondNode(world, 'db-0')
    world.cluster.launch('lost')
    let wrong: string[] = []
    await world.until('the replacement', () => {
      if (uidsOf(world, 'db-0').length > 1 && !world.gonePods.has(uidAway(world)!))
        wrong = ['a second db-0 came before the first had gone']
      return uidsOf(world, 'db-0').length > 1 && world.isReady('db-0')
    })
    await world.patch(resources.statefulSets, 'db', { spec: { replicas: 0 } })
    await world.until('no members', () => world.pods().length === 0)
    await world.delete(resources.statefulSets, 'db')
    return wrong
  },
}

const deployment = (world: World, replicas: number) => ({
  spec: {
    replicas,
    selector: { matchLabels: { app: 'shop' } },
    template: { metadata: { labels: { app: 'shop' } }, spec: world.podSpec(obeys) },
  },
})
const waitsForDependents = (
  object: { metadata: { deletionTimestamp?: string; finalizers?: string[] } } | undefined,
) =>
  object?.metadata.deletionTimestamp !== undefined &&
  (object.metadata.finalizers ?? []).includes('foregroundDeletion')
const readyPods = (world: World): number =>
  world.pods().filter(({ metadata }) => world.isReady(metadata.name)).length

const foreground: Story = {
  name: '5 owners in foreground',
  steps: [
    { name: 'ReplicaSet made', holds: (w) => w.replicaSets().length > 0 },
    { name: 'Pods ready', holds: (w) => readyPods(w) === 2 },
    {
      name: 'Deployment waits',
      holds: (w) => waitsForDependents(w.deployment('shop')),
      ci: 'controller-manager',
    },
    {
      name: 'ReplicaSet waits',
      holds: (w) => w.replicaSets().some(waitsForDependents),
      ci: 'server',
    },
    {
      name: 'Pods terminating',
      holds: (w) => w.pods().some(({ metadata }) => metadata.deletionTimestamp !== undefined),
      ci: 'kubelet',
    },
    { name: 'Pods gone', holds: (w) => w.everyPod.size > 0 && w.pods().length === 0 },
    { name: 'ReplicaSet gone', holds: (w) => w.everyPod.size > 0 && w.replicaSets().length === 0 },
  ],
  play: async (world) => {
    await world.create(resources.deployments, 'shop', deployment(world, 2))
    await world.until('two Pods', () => readyPods(world) === 2)
    await world.delete(resources.deployments, 'shop', { propagationPolicy: 'Foreground' })
    await world.until('the end of the Deployment', () => !world.deployment('shop'))
    // Of two watches that a server's end has cut off, one may know of the Deployment before the other knows of the ReplicaSet.
    const { namespace } = world
    const left = await world.ask(() => world.client.list(resources.replicaSets, { namespace }))
    const wrong = left?.items.length === 0 ? [] : ['the Deployment went before its ReplicaSet']
    await world.until('no Pods', () => world.pods().length === 0)
    return wrong
  },
}

const orphaned: Story = {
  name: '5 orphaned, then background',
  steps: [
    { name: 'Pods ready', holds: (w) => readyPods(w) === 2 },
    {
      name: 'Deployment gone',
      holds: (w) => w.everyPod.size > 0 && w.deployment('shop') === undefined,
      ci: 'controller-manager',
    },
    {
      name: 'ReplicaSet gone',
      holds: (w) => w.everyPod.size > 0 && w.replicaSets().length === 0,
      ci: 'controller-manager',
    },
    {
      name: 'Pods terminating',
      holds: (w) => w.pods().some(({ metadata }) => metadata.deletionTimestamp !== undefined),
    },
  ],
  play: async (world) => {
    await world.create(resources.deployments, 'shop', deployment(world, 2))
    await world.until('two Pods', () => readyPods(world) === 2)
    const uids = world.pods().map(({ metadata }) => metadata.uid)
    await world.delete(resources.deployments, 'shop', { propagationPolicy: 'Orphan' })
    await world.until('no Deployment', () => world.deployment('shop') === undefined)
    // Whether they are ready says nothing: a node that could not reach the server for long may be taken for lost.
    const lives = ({ metadata }: Pod) => metadata.deletionTimestamp === undefined
    const left = world.pods().filter(lives)
    const wrong = uids.every((uid) => left.some(({ metadata }) => metadata.uid === uid))
      ? []
      : ['orphans were ended']
    if (left.length > 2) wrong.push('orphans were replaced')
    const [set] = world.replicaSets()
    if (!set) return ['the ReplicaSet went with its orphaning owner']
    await world.delete(resources.replicaSets, set.metadata.name, {
      propagationPolicy: 'Background',
    })
    await world.until('no Pods', () => world.pods().length === 0)
    return wrong
  },
}

const namespaceEnds: Story = {
  name: '5 namespace',
  steps: [
    { name: 'Pods ready', holds: (w) => readyPods(w) === 2 },
    {
      name: 'namespace Terminating',
      holds: (w) => w.namespaceObject()?.metadata.deletionTimestamp !== undefined,
      ci: 'server',
    },
    {
      name: 'Pods terminating',
      holds: (w) => w.pods().some(({ metadata }) => metadata.deletionTimestamp !== undefined),
      ci: 'controller-manager',
    },
    { name: 'Pods gone', holds: (w) => w.everyPod.size > 0 && w.pods().length === 0 },
    {
      name: 'held by a finalizer',
      holds: (w) =>
        w
          .namespaceObject()
          ?.status?.conditions?.some(
            (c: { type: string; status: string }) =>
              c.type === 'NamespaceFinalizersRemaining' && c.status === 'True',
          ) ?? false,
      ci: 'controller-manager',
    },
  ],
  play: async (world) => {
    await world.create(resources.statefulSets, 'db', statefulSet(world, 2))
    await world.create(resources.configMaps, 'held', {
      metadata: { name: 'held', namespace: world.namespace, finalizers: ['example.com/hold'] },
    })
    await world.until('two Pods', () => readyPods(world) === 2)
    await world.delete(resources.namespaces, world.namespace)
    const held = namespaceEnds.steps.at(-1)!
    await world.until('the finalizer in the way', () => held.holds(world))
    // Of two watches that a server's end has cut off, one may know of the namespace before the other knows of the Pods.
    const { namespace } = world
    const left = await world.ask(() => world.client.list(resources.pods, { namespace }))
    const wrong = left?.items.length === 0 ? [] : ['other things were waited for before the Pods']
    await world.patch(resources.configMaps, 'held', { metadata: { finalizers: null } })
    await world.until('the end of the namespace', () => world.namespaceObject() === undefined)
    return wrong
  },
}

const evicted: Story = {
  name: '5 eviction and its budget',
  steps: [
    { name: 'Pods ready', holds: (w) => readyPods(w) === 2 },
    { name: 'refused', holds: (w) => recorded(w, 'user', 'refused'), ci: 'controller-manager' },
    {
      name: 'Pods terminating',
      holds: (w) => w.pods().some(({ metadata }) => metadata.deletionTimestamp !== undefined),
      ci: 'server',
    },
    { name: 'replaced', holds: (w) => w.everyPod.size > 2 },
  ],
  play: async (world) => {
    await world.create(resources.podDisruptionBudgets, 'shop', {
      spec: { minAvailable: 2, selector: { matchLabels: { app: 'shop' } } },
    })
    await world.create(resources.deployments, 'shop', deployment(world, 2))
    await world.until('two Pods', () => readyPods(world) === 2)
    const name = world.pods()[0]!.metadata.name
    const at = { namespace: world.namespace, name }
    const evict = async (): Promise<boolean> => {
      try {
        await world.client.create(
          resources.pods,
          { apiVersion: 'policy/v1', kind: 'Eviction', metadata: at },
          { name, subresource: 'eviction' },
        )
        return true
      } catch {
        return world.pod(name) === undefined
      }
    }
    const wrong = (await evict()) ? ['the budget did not hold'] : []
    world.note('user', 'refused')
    await world.patch(resources.podDisruptionBudgets, 'shop', { spec: { minAvailable: 1 } })
    await world.until('the eviction', evict)
    await world.until('a replacement', () => world.everyPod.size > 2 && readyPods(world) === 2)
    await world.delete(resources.deployments, 'shop')
    await world.until('no Pods', () => world.pods().length === 0)
    return wrong
  },
}

const forcefulOperator: Story = {
  name: '6 an operator that deletes with grace 0',
  mayRunTwice: true,
  steps: [
    { name: 'ready', holds: (w) => w.isReady('member-0') },
    {
      name: 'object gone',
      holds: (w) => uidsOf(w, 'member-0').some((uid) => w.gonePods.has(uid)),
      ci: 'kubelet',
    },
    { name: 'made again', holds: (w) => uidsOf(w, 'member-0').length > 1, ci: 'scheduler' },
    {
      name: 'ready again',
      holds: (w) => uidsOf(w, 'member-0').length > 1 && w.isReady('member-0'),
      ci: 'server',
    },
    { name: 'ends', holds: (w) => isGoing(w, 'member-0') },
  ],
  play: async (world) => {
    const make = () => world.create(resources.pods, 'member-0', { spec: world.podSpec(obeys) })
    await make()
    await world.until('the member', () => world.isReady('member-0'))
    await world.until('its trap', () => world.record('starts').length === 1)
    const [first] = uidsOf(world, 'member-0')
    await world.delete(resources.pods, 'member-0', { gracePeriodSeconds: 0 })
    await world.until('the object gone', () => world.gonePods.has(first!))
    await make()
    await world.until(
      'the new member',
      () => uidsOf(world, 'member-0').length > 1 && world.isReady('member-0'),
    )
    await world.until('the end of the old one', () =>
      world.processes().every(({ uid }) => uid !== first),
    )
    await world.delete(resources.pods, 'member-0')
    await world.until('the end', () => world.pods().length === 0)
    return []
  },
}

export const stories: readonly Story[] = [
  ordinary,
  shorter,
  identities,
  lostNode,
  lostIdentity,
  outOfService,
  nodeDeleted,
  foreground,
  orphaned,
  namespaceEnds,
  evicted,
  forcefulOperator,
  ...containerStories,
]
