/** What the garbage collector may not decide while it cannot see every dependent. */
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { expired, internalError, notFound } from '#api/errors.js'
import type { KubeObject, PersistedObject } from '#api/object.js'
import { Client, type ObjectList, type RawRequest, type WatchOptions } from '#client/client.js'
import type { EventRecorder } from '#client/event-recorder.js'
import { type ResourceRef, resources } from '#client/resources.js'
import { AbsentOwners } from '#controllers/garbage-collector/absent-owners.js'
import { Collector } from '#controllers/garbage-collector/collector.js'
import { Graph } from '#controllers/garbage-collector/graph.js'
import { limits } from '#limits'
import { definitionOf, definitions, versionOf } from '../server/definition-body.js'
import { startCluster, until } from './cluster.js'
import { manage, startControllers } from './in-process.js'

/** Its first question for what kinds there are fails, Secrets come late, can be cut off, and be refused. */
class BadNetwork extends Client {
  #refused = false
  #cut = new AbortController()
  /** What the server says instead of showing Secrets. */
  refusal: Error | undefined

  cutSecrets(): void {
    this.#cut.abort()
  }
  mend(): void {
    this.#cut = new AbortController()
  }

  override request<T>(request: RawRequest): Promise<T> {
    if (request.path !== '/apis' || this.#refused) return super.request(request)
    this.#refused = true
    return Promise.reject(new Error('refused'))
  }
  override async list<T = KubeObject>(ref: ResourceRef, options = {}): Promise<ObjectList<T>> {
    if (ref.resource === 'secrets') await sleep(400)
    if (ref.resource === 'secrets' && this.refusal !== undefined) throw this.refusal
    return super.list(ref, options)
  }
  override watch<T = KubeObject>(ref: ResourceRef, options: WatchOptions) {
    if (ref.resource !== 'secrets') return super.watch<T>(ref, options)
    if (this.refusal !== undefined) throw this.refusal
    const signal = AbortSignal.any([options.signal, this.#cut.signal])
    return super.watch<T>(ref, { ...options, signal })
  }
}

t.test('an orphaning owner goes when its dependents have been seen, not before', async (t) => {
  const { client, createNamespace } = await startCluster(t)
  const namespace = 'orphans'
  await createNamespace(namespace)
  const make = async (name: string) => {
    const owner = await client.create(resources.configMaps, { metadata: { name, namespace } })
    const ownerReferences = [{ apiVersion: 'v1', kind: 'ConfigMap', name, uid: owner.metadata.uid }]
    await client.create(resources.secrets, { metadata: { name, namespace, ownerReferences } })
  }
  const remove = (name: string) =>
    client.delete(resources.configMaps, { namespace, name }, { propagationPolicy: 'Orphan' })
  const ownersLeft = async () =>
    (await client.list(resources.configMaps, { namespace })).items.filter(
      ({ metadata }) => metadata.deletionTimestamp !== undefined,
    ).length
  const secrets = async () =>
    (await client.list(resources.secrets, { namespace })).items.map(
      ({ metadata }) => [metadata.name, metadata.ownerReferences ?? []] as const,
    )

  await make('before')
  await remove('before')
  const network = new BadNetwork(client.config, 'kube-controller-manager')
  t.teardown(() => network.close())
  manage(t, network, { controllers: ['garbage-collector-controller'] })
  await until(async () => (await ownersLeft()) === 0)

  const clock = performance.now.bind(performance)
  let aheadMs = 0
  t.intercept(performance, 'now', { value: () => clock() + aheadMs })
  network.cutSecrets()
  await sleep(50)
  await make('meanwhile')
  await remove('meanwhile')
  // However late they are.
  aheadMs += 60_000
  await sleep(300)
  network.mend()
  await until(async () => (await ownersLeft()) === 0)
  // Who would be collected wrongly is collected soon.
  await sleep(300)
  t.same(await secrets(), [
    ['before', []],
    ['meanwhile', []],
  ])

  network.refusal = internalError('conversion webhook for Secrets failed')
  network.cutSecrets()
  await make('unseen')
  await remove('unseen')
  await sleep(300)
  t.equal(await ownersLeft(), 1, 'waits')
  aheadMs += 60_000
  await until(async () => (await ownersLeft()) === 0)
})

t.test('a kind whose version is not served any more is followed in the one that is', async (t) => {
  const { client, createNamespace } = await startCluster(t)
  const namespace = 'versions'
  await createNamespace(namespace)
  const { group, kind, plural } = { group: 'gc.example.com', kind: 'Widget', plural: 'widgets' }
  const definition = (...versions: object[]) =>
    definitionOf({ group, scope: 'Namespaced', names: { plural, kind }, versions })
  const widgets = (version: string): ResourceRef => ({
    group,
    version,
    resource: plural,
    kind,
    namespaced: true,
  })
  const schema = { type: 'object' }
  const served = (version: string) =>
    until(() => client.list(widgets(version)).then(Boolean, () => false))
  const isCollected = async (version: string) => {
    const owner = await client.create(resources.configMaps, { metadata: { name: 'o', namespace } })
    const ownerReferences = [
      { apiVersion: 'v1', kind: 'ConfigMap', name: 'o', uid: owner.metadata.uid },
    ]
    const metadata = { name: 'w', namespace, ownerReferences }
    await client.create(widgets(version), { metadata })
    await client.delete(resources.configMaps, { namespace, name: 'o' })
    await until(async () => (await client.list(widgets(version), { namespace })).items.length === 0)
  }
  const { metadata } = await client.create(definitions, definition(versionOf('v1', schema)))
  await served('v1')
  manage(t, client, { controllers: ['garbage-collector-controller'] })
  await isCollected('v1')
  const { spec } = definition(
    versionOf('v1', schema, { served: false, storage: false }),
    versionOf('v2', schema),
  )
  await client.patch(definitions, metadata, { spec }, { type: 'merge' })
  await served('v2')
  await isCollected('v2')
})

t.test('an owner in a namespace may be seen before or after whom it cannot own', (t) => {
  const object = (kind: string, metadata: object) =>
    ({ apiVersion: 'v1', kind, metadata: { ...metadata } }) as PersistedObject
  const owner = object('ConfigMap', { name: 'o', uid: 'o', namespace: 'there' })
  const ownerReferences = [{ apiVersion: 'v1', kind: 'ConfigMap', name: 'o', uid: 'o' }]
  const dependent = object('PersistentVolume', { name: 'd', uid: 'd', ownerReferences })
  const toldOf = (...objects: PersistedObject[]) => {
    const told: string[] = []
    const graph = new Graph({
      delete: () => {},
      owned: () => {},
      orphan: () => {},
      foreignOwner: ({ identity }, { uid }) => told.push(`${identity.uid} of ${uid}`),
    })
    for (const seen of objects) graph.seen(seen)
    return { told, graph }
  }
  t.same(toldOf(owner, dependent).told, ['d of o'])
  t.same(toldOf(dependent, owner).told, ['d of o'])
  const other = object('ConfigMap', { name: 'p', uid: 'p', namespace: 'there' })
  const another = { apiVersion: 'v1', kind: 'ConfigMap', name: 'p', uid: 'p' }
  const ofBoth = { name: 'd', uid: 'd', ownerReferences: [...ownerReferences, another] }
  const two = object('PersistentVolume', ofBoth)
  t.same(toldOf(owner, other, two).told, ['d of o'], 'once for an object')
  const { graph } = toldOf(dependent)
  t.equal(graph.get('o')?.virtual, true, 'an owner that is only named')
  graph.gone('d')
  t.equal(graph.get('o'), undefined, 'is forgotten with the last that names it')
  t.end()
})

t.test(
  'an owner that goes before its watch has shown it takes its dependents with it',
  async (t) => {
    const namespace = 'default'
    const cut = new AbortController()
    let isMended = false
    let asked = 0
    const client = await startControllers(t, ['garbage-collector-controller'], (client) => ({
      get(...args: Parameters<Client['get']>) {
        if (args[1].name === 'owner') asked++
        return client.get(...args)
      },
      watch(ref: ResourceRef, options: WatchOptions) {
        if (ref.resource !== 'configmaps' || isMended) return client.watch(ref, options)
        // Its history is gone by the time it is back.
        if (cut.signal.aborted) throw expired('too old resource version')
        const signal = AbortSignal.any([options.signal, cut.signal])
        return client.watch(ref, { ...options, signal })
      },
      async list(ref: ResourceRef, options = {}) {
        if (ref.resource === 'configmaps' && cut.signal.aborted && !isMended)
          throw new Error('away')
        return client.list(ref, options)
      },
    }))
    const { configMaps, secrets } = resources
    const own = async (name: string) => {
      const owner = await client.create(configMaps, { metadata: { name, namespace } })
      const ownerReferences = [
        { apiVersion: 'v1', kind: 'ConfigMap', name, uid: owner.metadata.uid },
      ]
      await client.create(secrets, { metadata: { name, namespace, ownerReferences } })
    }
    const remains = async () => (await client.list(secrets, { namespace })).items.length > 0
    await own('first')
    await client.delete(configMaps, { namespace, name: 'first' })
    await until(async () => !(await remains()))
    cut.abort()
    await own('owner')
    await until(() => asked > 0)
    await client.delete(configMaps, { namespace, name: 'owner' })
    isMended = true
    await until(async () => !(await remains()))
  },
)

t.test('an owner that one names wrongly keeps the dependents that name it rightly', async (t) => {
  const object = (kind: string, metadata: object) =>
    ({ apiVersion: 'v1', kind, metadata: { ...metadata } }) as PersistedObject
  const ownerReferences = [{ apiVersion: 'v1', kind: 'ConfigMap', name: 'o', uid: 'o' }]
  const owner = object('ConfigMap', { name: 'o', uid: 'o', namespace: 'here' })
  const own = object('Secret', { name: 'own', uid: 'own', namespace: 'here', ownerReferences })
  const stranger = object('Secret', { name: 's', uid: 's', namespace: 'there', ownerReferences })
  const clusterScoped = object('PersistentVolume', { name: 'v', uid: 'v', ownerReferences })
  const start = (get: (at: { namespace?: string }) => Promise<PersistedObject>) => {
    let attended: string[] = []
    const graph = new Graph({
      delete: ({ identity }) => attended.push(identity.uid),
      owned: () => {},
      orphan: () => {},
      foreignOwner: () => {},
    })
    const collector = new Collector({
      graph,
      client: { get: (_: unknown, at: { namespace?: string }) => get(at) } as object as Client,
      recorder: { event: () => {}, flush: async () => {} } as object as EventRecorder,
      resourceOf: () => ({ ...resources.configMaps, verbs: [] }),
      again: () => {},
    })
    const told = (): string[] => {
      const uids = attended
      attended = []
      return uids
    }
    return { graph, collector, told }
  }
  const absent = () => Promise.reject(notFound(resources.configMaps, 'o'))

  const late = start(() => {
    for (const shown of [own, owner]) late.graph.seen(shown)
    return absent()
  })
  late.graph.seen(stranger)
  await late.collector.attemptToDelete(late.graph.get('o')!)
  t.ok(late.told().includes('s'), 'who names it wrongly is looked at')
  late.graph.gone('o')
  t.ok(late.told().includes('own'), 'shown while it was sought')

  const later = start(({ namespace }) => (namespace === 'here' ? Promise.resolve(owner) : absent()))
  for (const shown of [stranger, own]) later.graph.seen(shown)
  t.ok(await later.collector.attemptToDelete(later.graph.get('o')!), 'is sought again')
  t.ok(later.told().includes('s'))
  t.ok(await later.collector.attemptToDelete(later.graph.get('o')!), 'is there, not shown yet')
  later.graph.seen(owner)
  later.told()
  later.graph.gone('o')
  t.ok(later.told().includes('own'), 'shown after it was sought')

  const nowhere = start(absent)
  for (const shown of [clusterScoped, own]) nowhere.graph.seen(shown)
  t.ok(nowhere.told().includes('own'), 'one beside a cluster-scoped one is looked at by itself')
})

t.test('an owner in another namespace is reported', async (t) => {
  const { client, spawn, createNamespace } = await startCluster(t)
  await createNamespace('here')
  await createNamespace('there')
  const at = { name: 'owner', namespace: 'there' }
  const owner = await client.create(resources.configMaps, { metadata: at })
  const uid = owner.metadata.uid
  const ownerReferences = [{ apiVersion: 'v1', kind: 'ConfigMap', name: 'owner', uid }]
  await client.create(resources.persistentVolumes, {
    metadata: { name: 'cluster-scoped', ownerReferences },
    spec: {
      capacity: { storage: '1Gi' },
      accessModes: ['ReadWriteOnce'],
      hostPath: { path: '/x' },
    },
  })
  spawn('controller-manager', '--controllers=garbage-collector-controller')
  await until(async () => {
    const { items } = await client.list(eventsRef, { namespace: 'default' })
    return items.some(({ reason }) => reason === 'OwnerRefInvalidNamespace')
  })
  await client.create(resources.secrets, {
    metadata: { name: 'cross', namespace: 'here', ownerReferences },
  })
  const told = async () =>
    (await client.list(eventsRef, { namespace: 'here' })).items.map(({ message }) => message)
  await until(async () => (await told()).length > 0)
  t.same(await told(), [
    `ownerRef [v1/ConfigMap, namespace: here, name: owner, uid: ${uid}] does not exist in namespace "here"`,
  ])
  const { items } = await client.list(resources.persistentVolumes, {})
  t.ok(items.length > 0, 'a cluster-scoped object is kept all the same')
})

t.test('whoever names an owner wrongly goes alone', async (t) => {
  const client = await startControllers(t, ['garbage-collector-controller'])
  const namespace = 'default'
  const { configMaps, secrets } = resources
  const own = (...owners: [name: string, object: PersistedObject][]) =>
    owners.map(([name, { metadata }]) => {
      return { apiVersion: 'v1', kind: 'ConfigMap', name, uid: metadata.uid }
    })
  const make = (ref: ResourceRef, metadata: object) =>
    client.create<PersistedObject>(ref, { metadata: { namespace, ...metadata } })
  const kept = await make(configMaps, { name: 'kept' })
  const dropped = await make(configMaps, { name: 'dropped' })
  const ownerReferences = own(['kept', kept], ['dropped', dropped])
  await make(secrets, { name: 'right', ownerReferences })
  await make(secrets, { name: 'wrong', ownerReferences: own(['no-such-name', kept]) })
  const get = (name: string) =>
    client.get<PersistedObject>(secrets, { namespace, name }).catch(() => undefined)
  await until(async () => (await get('wrong')) === undefined)
  await client.delete(configMaps, { namespace, name: 'dropped' })
  await until(async () => (await get('right'))?.metadata.ownerReferences?.length !== 2)
  t.same((await get('right'))?.metadata.ownerReferences, own(['kept', kept]))
})

t.test('an object in no namespace that names an owner in one is left as it is', async (t) => {
  const ownerReferences = [
    { apiVersion: 'storage.k8s.io/v1', kind: 'StorageClass', name: 'gone', uid: 'g' },
    { apiVersion: 'v1', kind: 'ConfigMap', name: 'o', uid: 'o' },
  ]
  const metadata = { name: 'v', uid: 'v', ownerReferences }
  const volume = { apiVersion: 'v1', kind: 'PersistentVolume', metadata } as PersistedObject
  const written: string[] = []
  const client = {
    get: async (ref: ResourceRef) => {
      if (ref.resource !== 'persistentvolumes') throw notFound(ref, 'it')
      return volume
    },
    patch: async () => written.push('patched'),
    delete: async () => written.push('deleted'),
  }
  const ignored = { delete: () => {}, orphan: () => {}, owned: () => {}, foreignOwner: () => {} }
  const graph = new Graph(ignored)
  const refs = [resources.persistentVolumes, resources.storageClasses, resources.configMaps]
  const collector = new Collector({
    graph,
    client: client as object as Client,
    recorder: { event: () => {}, flush: async () => {} } as object as EventRecorder,
    resourceOf: (_, kind) => ({ ...refs.find((ref) => ref.kind === kind)!, verbs: [] }),
    again: () => {},
  })
  graph.seen(volume)
  await collector.attemptToDelete(graph.get('v')!)
  t.same(written, [], 'not even the owner that is gone is taken off')
})

const eventsRef: ResourceRef = {
  group: '',
  version: 'v1',
  resource: 'events',
  kind: 'Event',
  namespaced: true,
}

t.test('the latest absent owners are remembered, each in its namespace', (t) => {
  const absent = new AbsentOwners()
  const owner = (i: number, namespace = 'ns') => {
    const name = `owner-${i}`
    return { apiVersion: 'v1', kind: 'ConfigMap', name, uid: `uid-${i}`, namespace }
  }
  for (let i = 0; i <= limits.absentOwnersKept; i++) absent.add(owner(i))
  t.notOk(absent.has(owner(0)))
  t.ok(absent.has(owner(1)))
  t.notOk(absent.has(owner(1, '')))
  t.notOk(absent.has({ ...owner(1), name: 'another' }), 'of the same uid')
  t.end()
})
