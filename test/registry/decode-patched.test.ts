/** What a patch of a stored object leaves alone stays the very part that is stored, and no hook of a kind writes into it. */
import t from 'tap'
import type { KubeObject, ManagedFieldsEntry } from '#api/object.js'
import { deepFreeze } from '#cacher/mutation-detector.js'
import { cloneJson } from '#json/object.js'
import type { JsonObject } from '#json/value.js'
import { kinds } from '#kinds/index.js'
import { decodeObject } from '#registry/decode.js'
import { decodePatched } from '#registry/decode-patched.js'
import { readManagedFields, writeManagedFields } from '#registry/field-manager/managed-fields.js'
import { applyMergePatch } from '#registry/patch/merge.js'
import { makeResourceTable } from '#registry/resource-table.js'
import { startApiInMemory } from '../kinds/api-in-memory.js'

const table = makeResourceTable(kinds)

const partsOf = ({ metadata: _own, ...parts }: KubeObject): JsonObject => parts

const written = kinds
  .map(({ group, version, kind, sample }) => ({
    sample,
    definition: table.byKind({ group, version, kind })!,
  }))
  .filter(({ definition: { verbs, schemaName, convert } }) =>
    [verbs.includes('create'), verbs.includes('patch'), schemaName, !convert].every(Boolean),
  )

t.test('for every kind, a patch of metadata shares all else with what is stored', async (t) => {
  const api = await startApiInMemory()
  t.teardown(() => api.close())
  t.ok(written.length > 50)
  for (const { sample, definition } of written) {
    const { gvk, gvr, namespaced, strategy } = definition
    const ctx = api.context(namespaced ? { namespace: 'default' } : {})
    const store = api.store(gvr.group, gvr.resource)
    const { object } = decodeObject(definition, cloneJson(sample))
    const created = await store.create(ctx, object)
    const name = created.object.metadata.name!
    const isShared = strategy.beginUpdate === undefined && strategy.canonicalize === undefined
    let before = created.object
    for (const count of ['1', '2', '3']) {
      if (isShared) for (const part of Object.values(partsOf(before))) deepFreeze(part)
      const { stored } = await store.update(ctx, name, (current) => {
        const patch = { metadata: { annotations: { count }, labels: null } }
        const patched = applyMergePatch(current!, patch)
        const plain = decodeObject(definition, cloneJson(patched))
        const shared = decodePatched(definition, patched, current!)
        t.strictSame(shared, plain, gvk.kind)
        return shared.object
      })
      t.equal(stored.object.metadata.annotations?.count, count)
      if (isShared)
        for (const [field, part] of Object.entries(partsOf(stored.object)))
          t.equal(part, before[field], `${gvk.kind} ${field}`)
      before = stored.object
    }
  }
})

t.test('owners that were written here are handed on, others are decoded', (t) => {
  const definition = table.byKind({ group: '', version: 'v1', kind: 'ConfigMap' })!
  const entry = {
    manager: 'a',
    operation: 'Update',
    apiVersion: 'v1',
    time: '2020-01-01T00:00:00Z',
    fieldsType: 'FieldsV1',
    fieldsV1: { 'f:data': { '.': {}, 'f:a': {} } },
    subresource: 'status',
  }
  const entries = writeManagedFields(readManagedFields([entry as ManagedFieldsEntry]))!
  const { object } = decodeObject(definition, { metadata: { name: 'a' }, data: { a: 'b' } })
  object.metadata.managedFields = entries
  const patch = (change: JsonObject) => applyMergePatch(object, { metadata: change })
  const changes: JsonObject[] = [
    { labels: { a: 'b' } },
    { managedFields: [] },
    { managedFields: [{}] },
  ]
  for (const change of changes) {
    const shared = decodePatched(definition, patch(change), object)
    t.strictSame(shared, decodeObject(definition, cloneJson(patch(change))))
    t.equal(shared.object.metadata.managedFields === entries, 'labels' in change)
  }
  t.end()
})

t.test('where a status alone changes, the defaults write into no spec that is stored', (t) => {
  const definition = table.byKind({ group: '', version: 'v1', kind: 'Pod' })!
  const limits = { cpu: '1', memory: '1Gi', 'hugepages-2Mi': '2Mi' }
  const container = { image: 'a', ports: [{ containerPort: 80 }], resources: { limits } }
  const { object } = decodeObject(definition, {
    metadata: { name: 'a', namespace: 'b' },
    spec: {
      hostNetwork: true,
      resources: { limits: { cpu: '2' } },
      containers: [{ name: 'a', ...container }],
      initContainers: [{ name: 'b', ...container }],
    },
    status: {},
  })
  deepFreeze(object.spec)
  let stored = object
  for (const phase of ['Pending', 'Running', 'Failed']) {
    stored = decodePatched(
      definition,
      applyMergePatch(stored, { status: { phase } }),
      stored,
    ).object
    t.equal(stored.status.phase, phase)
    t.equal(stored.spec, object.spec)
  }
  t.end()
})

t.test('what a patch changes is decoded and gets its defaults, again and again', async (t) => {
  const api = await startApiInMemory()
  t.teardown(() => api.close())
  const patch = async (definition: (typeof written)[number]['definition'], change: JsonObject) => {
    const ctx = api.context(definition.namespaced ? { namespace: 'default' } : {})
    const store = api.store(definition.gvr.group, definition.gvr.resource)
    const { stored } = await store.update(ctx, 'sample', (current) => {
      const { object } = decodePatched(definition, applyMergePatch(current!, change), current!)
      return object
    })
    return stored.object
  }
  for (const { sample, definition } of written.filter(({ definition: { gvk } }) =>
    ['Namespace', 'Secret', 'Pod'].includes(gvk.kind),
  )) {
    const { object } = decodeObject(definition, cloneJson(sample))
    const ctx = api.context(definition.namespaced ? { namespace: 'default' } : {})
    await api.store(definition.gvr.group, definition.gvr.resource).create(ctx, object)
    for (const count of ['1', '2']) await patch(definition, { metadata: { labels: { count } } })
    const { kind } = definition.gvk
    if (kind === 'Namespace') {
      const name = 'kubernetes.io/metadata.name'
      const patched = await patch(definition, { metadata: { labels: { [name]: null } } })
      t.equal(patched.metadata.labels?.[name], 'sample')
    }
    if (kind === 'Secret') {
      const patched = await patch(definition, { data: null, stringData: { a: 'b' } })
      t.strictSame(patched.data, { a: 'Yg==' })
      t.equal(patched.type, 'Opaque')
    }
    if (kind === 'Pod') {
      const patched = await patch(definition, { spec: { schedulerName: null } })
      t.equal(patched.spec.schedulerName, 'default-scheduler')
    }
  }
})
