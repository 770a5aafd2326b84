/** What an update leaves alone. */
import t from 'tap'
import { systemClock } from '#api/clock.js'
import type { KubeObject, ManagedFieldsEntry } from '#api/object.js'
import type { StoredObject } from '#cacher/object-storage.js'
import { statusHooks } from '#registry/before-update.js'
import type { RequestContext, ResourceDefinition } from '#registry/resource-definition.js'
import { StorageError } from '#storage/driver.js'
import { openMemory } from '#storage/memory/memory-driver.js'
import { startApiInMemory } from '../kinds/api-in-memory.js'

t.test(
  'the version before stays what it was, whatever of it the next one takes over',
  async (t) => {
    const api = await startApiInMemory()
    t.teardown(() => api.close())
    const ctx = api.context({ namespace: 'default' })
    const store = api.context().stores({ group: '', resource: 'configmaps' })!
    const { revision, object: before } = await store.create(ctx, {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'a', namespace: 'default' },
    })
    const { stored }: { stored: StoredObject } = await store.update(ctx, 'a', (current) => ({
      ...current!,
      data: { a: '1' },
    }))
    t.ok(stored.revision > revision)
    t.equal(stored.object.metadata.resourceVersion, String(stored.revision))
    t.equal(before.metadata.resourceVersion, String(revision))
  },
)

t.test(
  'what is too large with its owners is stored without them, unless it is applied',
  async (t) => {
    const memory = openMemory({ clock: systemClock })
    const bytesMax = 2000
    const api = await startApiInMemory(undefined, {
      ...memory,
      txn: async (compares, operations) => {
        if (operations.some((one) => one.type === 'put' && one.value.length > bytesMax))
          throw new StorageError('TooLarge', 'etcdserver: request is too large')
        return memory.txn(compares, operations)
      },
    })
    t.teardown(() => api.close())
    const owned = (length: number): ManagedFieldsEntry[] => [
      {
        ...{ manager: 'm', operation: 'Update', apiVersion: 'v1', fieldsType: 'FieldsV1' },
        fieldsV1: { 'f:data': { [`f:${'k'.repeat(length)}`]: {} } },
      },
    ]
    const call = { namespace: 'default' }
    const make = (name: string, ownersLength: number, data = 'v') =>
      api.create(
        'v1/configmaps',
        { metadata: { name, managedFields: owned(ownersLength) }, data: { k: data } },
        call,
      )
    t.ok((await make('small', 10)).body.metadata.managedFields)
    const large = await make('large', bytesMax)
    t.equal(large.code, 201)
    t.notOk('managedFields' in large.body.metadata)
    t.equal((await make('hopeless', 10, 'v'.repeat(bytesMax))).code, 500)

    const grow = (object: KubeObject) => {
      object.metadata.managedFields = owned(bytesMax)
      object.data = { k: 'w' }
    }
    const grown = await api.replace('v1/configmaps', 'small', grow, call)
    t.equal(grown.code, 200)
    t.same(grown.body.data, { k: 'w' })
    t.notOk('managedFields' in grown.body.metadata)

    const ctx = api.context(call)
    const applied = api.store('', 'configmaps').update(
      ctx,
      'small',
      (current) => {
        const next = structuredClone(current!)
        grow(next)
        next.data = { k: 'x' }
        return next
      },
      { managedFieldsTracked: true },
    )
    await t.rejects(applied, { message: 'etcdserver: request is too large' })
  },
)

t.test('a create on update that another is faster than goes on as an update', async (t) => {
  const api = await startApiInMemory()
  t.teardown(() => api.close())
  const ctx = api.context({ namespace: 'default' })
  const store = api.context().stores({ group: '', resource: 'configmaps' })!
  const map = (data: Record<string, string>): KubeObject => ({
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: 'a', namespace: 'default' },
    data,
  })
  const seen: (KubeObject | undefined)[] = []
  const change = async (current: KubeObject | undefined): Promise<KubeObject> => {
    seen.push(current)
    if (current === undefined) await store.create(ctx, map({ first: '1' }))
    return { ...map({}), ...current, data: { ...current?.data, second: '2' } }
  }
  const { stored, created } = await store.update(ctx, 'a', change, { forceAllowCreate: true })
  t.equal(created, false)
  t.equal(seen.length, 2)
  t.same(stored.object.data, { first: '1', second: '2' })
  await t.rejects(store.create(ctx, map({})), { message: 'configmaps "a" already exists' })
})

t.test('an update that takes the last finalizer fails where the removal does', async (t) => {
  const memory = openMemory({ clock: systemClock })
  let isBroken = false
  const api = await startApiInMemory(undefined, {
    ...memory,
    txn: async (compares, operations) => {
      if (isBroken && operations.some((one) => one.type === 'delete'))
        throw new StorageError('Unavailable', 'no disk')
      return memory.txn(compares, operations)
    },
  })
  t.teardown(() => api.close())
  const call = { namespace: 'default' }
  const metadata = { name: 'a', finalizers: ['x.io/f'] }
  await api.create('v1/configmaps', { metadata }, call)
  await api.delete('v1/configmaps', 'a', call)
  const stored = async () => api.store('', 'configmaps').get(api.context(call), 'a')
  const release = () =>
    api.replace('v1/configmaps', 'a', ({ metadata }) => delete metadata.finalizers, call)
  isBroken = true
  t.equal((await release()).code, 500)
  t.match((await stored()).object.metadata, metadata)
  isBroken = false
  t.equal((await release()).code, 200)
  await t.rejects(stored(), { code: 404 })
})

t.test('the first update of a Job is a write where reading it fills in labels', async (t) => {
  const api = await startApiInMemory()
  t.teardown(() => api.close())
  const inDefault = { namespace: 'default' }
  const isWritten = async (spec: object, labels: object) => {
    const containers = [{ name: 'c', image: 'i' }]
    const template = { metadata: { labels }, spec: { containers, restartPolicy: 'Never' } }
    const job = { metadata: { generateName: 'j-' }, spec: { ...spec, template } }
    const { metadata } = (await api.create('batch/v1/jobs', job, inDefault)).body
    const again = await api.replace('batch/v1/jobs', metadata.name, () => {}, inDefault)
    return again.body.metadata.resourceVersion !== metadata.resourceVersion
  }
  t.equal(await isWritten({}, {}), true)
  const matchLabels = { 'controller-uid': 'mine' }
  const byHand = { manualSelector: true, selector: { matchLabels } }
  t.equal(await isWritten(byHand, matchLabels), false)
})

t.test('a generation that a client gave to a kind without one stays', async (t) => {
  const api = await startApiInMemory()
  t.teardown(() => api.close())
  const changes: [
    gvr: string,
    spec: object | undefined,
    change: (object: KubeObject) => unknown,
  ][] = [
    ['v1/nodes', {}, ({ spec }) => (spec.unschedulable = true)],
    ['v1/configmaps', undefined, (object) => (object.data = { a: 'b' })],
    [
      'coordination.k8s.io/v1/leases',
      { holderIdentity: 'a' },
      ({ spec }) => (spec.holderIdentity = 'b'),
    ],
  ]
  for (const [gvr, spec, change] of changes) {
    const call = gvr === 'v1/nodes' ? {} : { namespace: 'default' }
    const metadata = { name: 'a', generation: 7, finalizers: ['x.io/f'] }
    const made = await api.create(gvr, { metadata, ...(spec && { spec }) }, call)
    t.equal(made.body.metadata.generation, 7, gvr)
    const { body } = await api.replace(gvr, 'a', change, call)
    t.not(body.metadata.resourceVersion, made.body.metadata.resourceVersion)
    t.equal(body.metadata.generation, 7, gvr)
    const ending = await api.delete(gvr, 'a', call)
    t.equal(ending.body.metadata.generation, 8, 'but a delete counts')
  }
})

t.test(
  'a write of a status writes no more than that, and of some kinds the metadata',
  async (t) => {
    const owner = (manager: string): ManagedFieldsEntry[] => [{ manager } as ManagedFieldsEntry]
    const type = { apiVersion: 'example.com/v1', kind: 'Thing' }
    const stored: KubeObject = {
      ...type,
      metadata: { name: 'a', uid: 'u', labels: { of: 'stored' }, managedFields: owner('stored') },
      spec: { of: 'stored' },
      status: { of: 'stored' },
    }
    const sent: KubeObject = {
      ...type,
      metadata: { name: 'a', uid: 'u', labels: { of: 'sent' }, managedFields: owner('sent') },
      more: { of: 'sent' },
      spec: { of: 'sent' },
      status: { of: 'sent' },
    }
    const written = (isCustom: boolean, next = structuredClone(sent)) => {
      const definition = { isCustom, strategy: {} } as unknown as ResourceDefinition
      statusHooks(definition).prepareForUpdate!(next, stored, {} as RequestContext)
      return next
    }
    const { more: _, ...known } = sent
    t.strictSame(written(false), { ...known, spec: stored.spec })
    const metadata = { ...stored.metadata, managedFields: owner('sent') }
    t.strictSame(written(true), { ...known, metadata, spec: stored.spec })
    const unowned = structuredClone(sent)
    delete unowned.metadata.managedFields
    t.same(written(true, unowned).metadata.managedFields, undefined)
    delete stored.spec
    t.notOk('spec' in written(true))
  },
)
