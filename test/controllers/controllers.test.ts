import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import type { KubeObject, PersistedObject } from '#api/object.js'
import { type Client, createClient } from '#client/client.js'
import { isNotFound } from '#client/errors.js'
import { Informer } from '#client/informer.js'
import { silentLog } from '#client/log.js'
import { isPodReady, type Pod } from '#client/pod.js'
import { type ResourceRef, resources } from '#client/resources.js'
import { pretendNode, startCluster, until } from './cluster.js'
import { manage } from './in-process.js'

const podSpec = (extra: object = {}) => ({
  terminationGracePeriodSeconds: 1,
  containers: [{ name: 'main', image: 'none' }],
  ...extra,
})
const template = (image: string, extra: object = {}) => ({
  metadata: { labels: { app: 'web' } },
  spec: { ...podSpec(extra), containers: [{ name: 'main', image }] },
})
const selector = { matchLabels: { app: 'web' } }
const names = async (client: Client, ref: ResourceRef, namespace: string) =>
  (await client.list(ref, { namespace })).items.map((o) => o.metadata.name).sort()
const isGone = async (work: Promise<unknown>): Promise<boolean> => {
  try {
    await work
    return false
  } catch (error) {
    if (isNotFound(error)) return true
    throw error
  }
}

t.test(
  'what owns nothing any more goes, by each policy, though the collector is killed',
  async (t) => {
    const { client, spawn, createNamespace } = await startCluster(t)
    const namespace = 'owners'
    await createNamespace(namespace)
    const make = (name: string, owners: KubeObject[] = [], blockOwnerDeletion = true) =>
      client.create(resources.configMaps, {
        metadata: {
          name,
          namespace,
          ownerReferences: owners.map((o) => ({
            apiVersion: 'v1',
            kind: 'ConfigMap',
            name: o.metadata.name!,
            uid: o.metadata.uid!,
            blockOwnerDeletion,
          })),
        },
      })
    const chain = async (prefix: string) => {
      const owner = await make(prefix)
      const child = await make(`${prefix}-child`, [owner])
      await make(`${prefix}-grandchild`, [child])
      return owner
    }
    for (const prefix of ['background', 'foreground', 'orphan']) await chain(prefix)
    const valid = await make('valid')
    const waiting = await make('waiting')
    await make('shared', [valid, waiting])
    const first = await make('circle-1')
    const second = await make('circle-2', [first])
    const third = await make('circle-3', [second])
    await client.patch(
      resources.configMaps,
      { namespace, name: 'circle-1' },
      {
        metadata: {
          ownerReferences: [
            { apiVersion: 'v1', kind: 'ConfigMap', name: 'circle-3', uid: third.metadata.uid },
          ],
        },
      },
      { type: 'merge' },
    )
    const foreign = { ...valid, metadata: { ...valid.metadata, uid: 'a-uid-that-never-was' } }
    await make('of-nobody', [foreign])

    const manager = spawn('controller-manager')
    const remove = (name: string, propagationPolicy: 'Background' | 'Foreground' | 'Orphan') =>
      client.delete(resources.configMaps, { namespace, name }, { propagationPolicy })
    await remove('background', 'Background')
    await manager.killAndRestart()
    await remove('foreground', 'Foreground')
    await remove('waiting', 'Foreground')
    await sleep(300)
    await manager.killAndRestart()
    await remove('orphan', 'Orphan')
    await remove('circle-1', 'Foreground')
    await sleep(400)
    await manager.killAndRestart()

    const expected = ['orphan-child', 'orphan-grandchild', 'shared', 'valid']
    const left = async () =>
      (await names(client, resources.configMaps, namespace)).filter((n) => n !== 'kube-root-ca.crt')
    await until(async () => (await left()).length <= expected.length)
    t.same(await left(), expected)
    const shared = await client.get(resources.configMaps, { namespace, name: 'shared' })
    t.same(
      shared.metadata.ownerReferences!.map((o) => o.name),
      ['valid'],
    )
    const orphan = await client.get(resources.configMaps, { namespace, name: 'orphan-child' })
    t.same(orphan.metadata.ownerReferences ?? [], [])
  },
)

t.test(
  'a namespace ends with all it holds: Pods first, finalizers waited for and told of',
  async (t) => {
    const { client, spawn, createNamespace } = await startCluster(t)
    await createNamespace('ending')
    await pretendNode(t, client, 'n1', { dyingMs: 200 })
    const namespace = 'ending'
    await client.create(resources.pods, {
      metadata: { name: 'p', namespace },
      spec: podSpec({ nodeName: 'n1' }),
    })
    await client.create(resources.configMaps, {
      metadata: { name: 'held', namespace, finalizers: ['example.com/hold'] },
    })
    await client.create(resources.secrets, { metadata: { name: 's', namespace } })
    const gone: PersistedObject[] = []
    const stop = new AbortController()
    const runs = [resources.pods, resources.secrets].map((ref) => {
      const informer = new Informer({ client, ref, namespace, log: silentLog })
      informer.handle({ onDelete: (object) => gone.push(object) })
      return { informer, run: informer.run(stop.signal) }
    })
    await Promise.all(runs.map((r) => r.informer.synced()))
    const manager = spawn('controller-manager')
    await client.delete(resources.namespaces, { name: namespace })
    await sleep(300)
    await manager.killAndRestart()
    const read = () => client.get(resources.namespaces, { name: namespace })
    const condition = async (type: string) =>
      (await read()).status.conditions?.find((c: { type: string }) => c.type === type)
    await until(async () => (await condition('NamespaceFinalizersRemaining'))?.status === 'True')
    t.equal(
      (await condition('NamespaceFinalizersRemaining')).message,
      'Some content in the namespace has finalizers remaining: example.com/hold in 1 resource instances',
    )
    t.equal(
      (await condition('NamespaceContentRemaining')).message,
      'Some resources are remaining: configmaps. has 1 resource instances',
    )
    await until(() => gone.length === 2)
    // By when they went: of two watches either may be the first to tell.
    const order = gone.sort(
      (a, b) => Number(a.metadata.resourceVersion) - Number(b.metadata.resourceVersion),
    )
    t.same(
      order.map(({ metadata }) => metadata.name),
      ['p', 's'],
      'nothing else is touched while a Pod is left',
    )
    await client.patch(
      resources.configMaps,
      { namespace, name: 'held' },
      { metadata: { finalizers: null } },
      { type: 'merge' },
    )
    await manager.killAndRestart()
    await until(() => isGone(read()))
    stop.abort()
    await Promise.all(runs.map((r) => r.run))
  },
)

t.test('a rollout never falls below its minimum and ends, though everyone is killed', async (t) => {
  const { client, spawn, createNamespace } = await startCluster(t)
  const namespace = 'rolling'
  await createNamespace(namespace)
  await pretendNode(t, client, 'n1')
  const manager = spawn('controller-manager')
  const scheduler = spawn('scheduler')
  const at = { namespace, name: 'web' }
  await client.create(resources.deployments, {
    metadata: at,
    spec: { replicas: 4, selector, template: template('one') },
  })
  const read = () => client.get(resources.deployments, at)
  const isDone = async (image: string) => {
    const { status, metadata, spec } = await read()
    return (
      status.observedGeneration >= metadata.generation! &&
      spec.template.spec.containers[0].image === image &&
      status.updatedReplicas === 4 &&
      status.availableReplicas === 4 &&
      status.replicas === 4
    )
  }
  await until(() => isDone('one'))
  const ready = new Map<string, boolean>()
  let least = 4
  const stop = new AbortController()
  const pods = new Informer<Pod>({ client, ref: resources.pods, namespace, log: silentLog })
  const note = (pod: Pod, gone = false): void => {
    ready.set(pod.metadata.uid, !gone && !pod.metadata.deletionTimestamp && isPodReady(pod))
    if (pods.hasSynced) least = Math.min(least, [...ready.values()].filter(Boolean).length)
  }
  pods.handle({ onAdd: (p) => note(p), onUpdate: (p) => note(p), onDelete: (p) => note(p, true) })
  const watching = pods.run(stop.signal)
  await pods.synced()
  least = 4
  await client.patch(
    resources.deployments,
    at,
    { spec: { template: template('two') } },
    { type: 'merge' },
  )
  for (const wait of [120, 250, 400]) {
    await sleep(wait)
    await Promise.all([manager.killAndRestart(), scheduler.killAndRestart()])
  }
  await until(() => isDone('two'))
  t.ok(least >= 3, `25 % of 4 may be missing, and at least ${least} were ready`)
  const sets = (await client.list(resources.replicaSets, { namespace })).items
  t.equal(sets.length, 2, 'one ReplicaSet a template, whoever was killed')
  // `kubectl rollout undo` writes the old template back: its set comes back with a new number.
  await client.patch(
    resources.deployments,
    at,
    { spec: { template: template('one') } },
    { type: 'merge' },
  )
  await until(() => isDone('one'))
  t.equal((await read()).metadata.annotations!['deployment.kubernetes.io/revision'], '3')
  t.equal((await client.list(resources.replicaSets, { namespace })).items.length, 2)
  stop.abort()
  await watching
})

t.test('a StatefulSet never runs two Pods of one name, and shrinks from the top', async (t) => {
  const { client, spawn, createNamespace } = await startCluster(t)
  const namespace = 'stateful'
  await createNamespace(namespace)
  const node = await pretendNode(t, client, 'n1', { dyingMs: 60 })
  const manager = spawn('controller-manager')
  spawn('scheduler')
  const at = { namespace, name: 'db' }
  await client.create(resources.statefulSets, {
    metadata: at,
    spec: { replicas: 3, serviceName: 'db', selector, template: template('one') },
  })
  const readyPods = async () =>
    (await client.list<Pod>(resources.pods, { namespace })).items.filter(
      (p) => isPodReady(p) && !p.metadata.deletionTimestamp,
    )
  await until(async () => (await readyPods()).length === 3)
  await client.patch(
    resources.statefulSets,
    at,
    { spec: { template: template('two') } },
    { type: 'merge' },
  )
  for (let round = 0; round < 4; round++) {
    await sleep(150)
    const victim = (await readyPods())[0]
    if (victim !== undefined)
      await client
        .delete(resources.pods, { namespace, name: victim.metadata.name })
        .catch(() => undefined)
    await manager.killAndRestart()
  }
  await until(async () => {
    const pods = await readyPods()
    return pods.length === 3 && pods.every((p) => p.spec.containers[0]!.image === 'two')
  })
  t.equal(node.mostAtOnce(), 1)
  const order: string[] = []
  const stop = new AbortController()
  const informer = new Informer({ client, ref: resources.pods, namespace, log: silentLog })
  informer.handle({
    onUpdate(next, previous) {
      if (next.metadata.deletionTimestamp && !previous.metadata.deletionTimestamp)
        order.push(`end ${next.metadata.name}`)
    },
    onDelete: (pod) => order.push(`gone ${pod.metadata.name}`),
  })
  const watching = informer.run(stop.signal)
  await informer.synced()
  await client.patch(resources.statefulSets, at, { spec: { replicas: 0 } }, { type: 'merge' })
  await until(async () => (await names(client, resources.pods, namespace)).length === 0)
  await until(() => order.length === 6)
  t.same(order, ['end db-2', 'gone db-2', 'end db-1', 'gone db-1', 'end db-0', 'gone db-0'])
  stop.abort()
  await watching
})

t.test('each finished Pod of a Job counts once, though the counter is killed', async (t) => {
  const { client, spawn, createNamespace } = await startCluster(t)
  const namespace = 'jobs'
  await createNamespace(namespace)
  await pretendNode(t, client, 'n1', { phase: 'Succeeded' })
  const manager = spawn('controller-manager')
  spawn('scheduler')
  const spec = {
    completions: 12,
    parallelism: 3,
    template: { spec: { ...podSpec(), restartPolicy: 'Never' } },
  }
  await client.create(resources.jobs, { metadata: { name: 'plain', namespace }, spec })
  await client.create(resources.jobs, {
    metadata: { name: 'indexed', namespace },
    spec: { ...spec, completionMode: 'Indexed' },
  })
  for (let round = 0; round < 3; round++) {
    await sleep(250)
    await manager.killAndRestart()
  }
  const read = (name: string) => client.get(resources.jobs, { namespace, name })
  for (const name of ['plain', 'indexed'])
    await until(async () =>
      (await read(name)).status.conditions?.some((c: { type: string }) => c.type === 'Complete'),
    )
  t.equal((await read('plain')).status.succeeded, 12)
  t.equal((await read('plain')).status.failed, undefined)
  t.equal((await read('indexed')).status.completedIndexes, '0-11')
  const held = (await client.list(resources.pods, { namespace })).items.filter(
    (p) => (p.metadata.finalizers ?? []).length > 0,
  )
  t.same(held, [], 'no Pod is held by a finalizer any more')
})

t.test(
  'Pods of a lost node are told to go, stay until somebody knows that they ended',
  async (t) => {
    const { client, createNamespace } = await startCluster(t)
    const namespace = 'lost'
    await createNamespace(namespace)
    const node = await pretendNode(t, client, 'n1')
    // Were it alone, all nodes would be lost, and then nobody is given up.
    await pretendNode(t, client, 'n2')
    const toleration = (seconds: number) => ({
      nodeName: 'n1',
      tolerations: [
        {
          key: 'node.kubernetes.io/unreachable',
          operator: 'Exists',
          effect: 'NoExecute',
          tolerationSeconds: seconds,
        },
      ],
    })
    for (const [name, seconds] of [
      ['soon', 1],
      ['late', 300],
    ] as const)
      await client.create(resources.pods, {
        metadata: { name, namespace },
        spec: podSpec(toleration(seconds)),
      })
    const read = (name: string) => client.get<Pod>(resources.pods, { namespace, name })
    await until(async () => isPodReady(await read('soon')) && isPodReady(await read('late')))
    node.goSilent()
    manage(t, createClient(client.config, 'kube-controller-manager'), {
      settings: { nodeMonitorGracePeriodMs: 8_000, nodeMonitorPeriodMs: 100, podGcPeriodMs: 100 },
    })
    await until(async () => (await read('soon')).metadata.deletionTimestamp !== undefined)
    const unreachable = await client.get(resources.nodes, { name: 'n1' })
    t.match(unreachable.status.conditions[0], {
      type: 'Ready',
      status: 'Unknown',
      reason: 'NodeStatusUnknown',
    })
    t.same(
      unreachable.spec.taints
        .map((x: { key: string; effect: string }) => `${x.key}:${x.effect}`)
        .sort(),
      ['node.kubernetes.io/unreachable:NoExecute', 'node.kubernetes.io/unreachable:NoSchedule'],
    )
    const conditions = (await read('soon')).status.conditions!.map((c) =>
      [c.type, c.status, c.reason].filter(Boolean).join(' '),
    )
    t.same(
      conditions,
      ['Ready False', 'DisruptionTarget True DeletionByTaintManager'],
      'what is new comes last',
    )
    t.equal(
      (await read('late')).metadata.deletionTimestamp,
      undefined,
      'its toleration lasts longer',
    )
    await sleep(1_500)
    t.ok((await read('soon')).metadata.deletionTimestamp, 'nobody but the node ends it')
    await client.patch(
      resources.nodes,
      { name: 'n1' },
      {
        spec: {
          taints: [
            ...unreachable.spec.taints,
            { key: 'node.kubernetes.io/out-of-service', effect: 'NoExecute' },
          ],
        },
      },
      { type: 'merge' },
    )
    await until(() => isGone(read('soon')))
    await until(() => isGone(read('late')))
  },
)

t.test(
  'a watcher of the EndpointSlice learns that a Pod is ending before it is gone',
  async (t) => {
    const { client, spawn, createNamespace } = await startCluster(t)
    const namespace = 'endpoints'
    await createNamespace(namespace)
    const ready = new Map<string, { ready: boolean; terminating: boolean }>()
    const isEnding = (name: string): boolean => {
      const conditions = ready.get(name)
      return conditions?.terminating === true && !conditions.ready
    }
    // A Pod is there until its end was told of.
    await pretendNode(t, client, 'n1', { mayEnd: (name) => until(() => isEnding(name)) })
    spawn('controller-manager')
    await client.create(resources.services, {
      metadata: { name: 'web', namespace },
      spec: { selector: { app: 'web' }, ports: [{ port: 80 }] },
    })
    const pods = Array.from({ length: 20 }, (_, i) => `p${i}`)
    for (const name of pods)
      await client.create(resources.pods, {
        metadata: { name, namespace, labels: { app: 'web' } },
        spec: podSpec({ nodeName: 'n1', terminationGracePeriodSeconds: 30 }),
      })
    const stop = new AbortController()
    const slices = new Informer({
      client,
      ref: resources.endpointSlices,
      namespace,
      log: silentLog,
    })
    const look = (slice: KubeObject): void => {
      for (const { targetRef, conditions } of slice.endpoints ?? [])
        ready.set(targetRef.name, conditions)
    }
    slices.handle({ onAdd: look, onUpdate: look })
    const watching = slices.run(stop.signal)
    await until(() => pods.every((name) => ready.get(name)?.ready))
    for (const name of pods) {
      await client.delete(resources.pods, { namespace, name })
      await until(() => isEnding(name))
    }
    await t.resolves(
      until(async () => {
        const endpoints = await client.get(resources.endpoints, { namespace, name: 'web' })
        return !JSON.stringify(endpoints.subsets ?? []).includes('p19')
      }),
      'the Endpoints object drops it',
    )
    await until(async () => (await client.list(resources.pods, { namespace })).items.length === 0)
    stop.abort()
    await watching
  },
)
