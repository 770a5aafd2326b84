/** A store that a kube-apiserver has written to: protobuf, and JSON as Go writes it. */
import t from 'tap'
import { systemClock } from '#api/clock.js'
import type { KubeObject } from '#api/object.js'
import { customResourceDefinition } from '#crd/definition/definition-kind.js'
import { parse, stringify } from '#json/json.js'
import { groupKinds } from '#kinds/group-kinds.js'
import { kinds } from '#kinds/index.js'
import { storedValuesReader } from '#registry/decode/stored-values.js'
import { decodeObject } from '#registry/decode.js'
import { makeResourceTable } from '#registry/resource-table.js'
import { inProtobuf } from '#routes/answers/protobuf.js'
import { openMemory } from '#storage/memory/memory-driver.js'
import { eventually } from '../eventually.js'
import { call, openWatch, startServer } from '../server/start-server.js'

const table = makeResourceTable([...kinds, customResourceDefinition])
const read = storedValuesReader(table)

t.test('every kind in protobuf is read as what would be stored here', async (t) => {
  for (const kind of groupKinds) {
    const row = table.byKind(kind)!
    const { object } = decodeObject(row, structuredClone(kind.sample))
    const stored = row.convert?.toStorage(object) ?? object
    const found = read(inProtobuf(object))
    t.same(
      parse(String(found)),
      parse(stringify(stored)),
      `${kind.group}/${kind.version} ${kind.kind}`,
    )
  }
})

const jsonOf = (object: object): Buffer => Buffer.from(stringify(object))

t.test('every kind in JSON is read as what would be stored here', async (t) => {
  for (const kind of groupKinds) {
    const row = table.byKind(kind)!
    const { object } = decodeObject(row, structuredClone(kind.sample))
    const stored = jsonOf(row.convert?.toStorage(object) ?? object)
    t.same(parse(String(read(jsonOf(object)))), parse(String(stored)), kind.kind)
    t.equal(read(stored), stored, `${kind.kind} as it is`)
  }
})

const metadata = { name: 'old', namespace: 'default', uid: 'u', creationTimestamp: null }

t.test('an object without fields that came later is completed, in the order of Go', (t) => {
  const claim = (spec: object) => ({
    ...{ kind: 'PersistentVolumeClaim', apiVersion: 'v1', metadata },
    spec: { ...spec, resources: {} },
  })
  const service = (spec: object) => ({ kind: 'Service', apiVersion: 'v1', metadata, spec })
  const source = { apiGroup: null, kind: 'PersistentVolumeClaim', name: 'x' }
  const none = { sessionAffinity: 'None' }
  const internal = { internalTrafficPolicy: 'Cluster' }
  const one = { ipFamilies: ['IPv4'], ipFamilyPolicy: 'SingleStack' }
  const clusterIp = { type: 'ClusterIP', ...none }
  for (const [given, spec] of [
    [
      claim({ dataSource: source }),
      { resources: {}, volumeMode: 'Filesystem', dataSource: source, dataSourceRef: source },
    ],
    [
      claim({ dataSourceRef: { ...source, namespace: '' } }),
      {
        ...{ resources: {}, volumeMode: 'Filesystem', dataSource: source },
        dataSourceRef: { ...source, namespace: '' },
      },
    ],
    [
      service({ clusterIP: '10.0.0.9' }),
      { clusterIP: '10.0.0.9', clusterIPs: ['10.0.0.9'], ...clusterIp, ...one, ...internal },
    ],
    [
      service({ clusterIP: 'None', selector: { a: 'b' } }),
      {
        ...{ selector: { a: 'b' }, clusterIP: 'None', clusterIPs: ['None'] },
        ...{ ...clusterIp, ...one, ...internal },
      },
    ],
    [
      service({ clusterIP: 'None' }),
      {
        ...{ clusterIP: 'None', clusterIPs: ['None'], ...clusterIp },
        ...{ ipFamilies: ['IPv4', 'IPv6'], ipFamilyPolicy: 'RequireDualStack', ...internal },
      },
    ],
    [service({}), { ...clusterIp, ...internal }],
    [
      service({ type: 'ExternalName', externalName: 'a.b', ...internal }),
      { type: 'ExternalName', ...none, externalName: 'a.b' },
    ],
  ] as const)
    for (const bytes of [inProtobuf(given), Buffer.from(`${stringify(given)}\n`)]) {
      const { spec: found } = parse(String(read(bytes))) as unknown as KubeObject
      t.equal(stringify(found), stringify(spec), `${stringify(given.spec)} ${bytes[0]}`)
    }
  t.end()
})

const schemaOf = (type: string) => ({
  openAPIV3Schema: { type: 'object', properties: { size: { type } } },
})
const since = '2026-11-29T21:17:23Z'
/** As v1.36.3 stores a definition. */
const asStored = (spec: object) => ({
  ...{ kind: 'CustomResourceDefinition', apiVersion: 'apiextensions.k8s.io/v1beta1' },
  metadata: {
    name: 'bars.example.com',
    uid: 'uid-bars',
    creationTimestamp: since,
  },
  spec: {
    ...{ group: 'example.com', version: 'v1', scope: 'Namespaced' },
    names: { plural: 'bars', singular: 'bar', kind: 'Bar', listKind: 'BarList' },
    ...spec,
  },
  status: {
    conditions: [{ type: 'Established', status: 'True', lastTransitionTime: since }],
    acceptedNames: { plural: 'bars', singular: 'bar', kind: 'Bar', listKind: 'BarList' },
    storedVersions: ['v1'],
  },
})
const [v1, v2] = [
  { name: 'v1', served: true, storage: true },
  { name: 'v2', served: true, storage: false },
]
const column = { name: 'Size', type: 'integer' }
const shared = asStored({
  validation: schemaOf('integer'),
  subresources: { status: {} },
  versions: [v1, v2],
  additionalPrinterColumns: [{ ...column, JSONPath: '.size' }],
  selectableFields: [{ jsonPath: '.size' }],
  conversion: { strategy: 'None' },
  preserveUnknownFields: false,
})
const shownSpec = (stored: object): KubeObject['spec'] => {
  const { apiVersion, spec } = parse(String(read(jsonOf(stored)))) as unknown as KubeObject
  return apiVersion === 'apiextensions.k8s.io/v1' ? spec : undefined
}

t.test('what versions of a stored definition share is said of each', async (t) => {
  const { conversion, versions } = shownSpec(shared)
  t.same(conversion, { strategy: 'None' })
  const inEach = {
    schema: schemaOf('integer'),
    subresources: { status: {} },
    additionalPrinterColumns: [{ ...column, jsonPath: '.size' }],
    selectableFields: [{ jsonPath: '.size' }],
  }
  t.same(versions, [
    { ...v1, ...inEach },
    { ...v2, ...inEach },
  ])
})

t.test(
  'what its versions do not share stays with them; its webhook has a place of its own',
  async (t) => {
    const scale = { specReplicasPath: '.spec.size', statusReplicasPath: '.status.size' }
    const service = { namespace: 'a', name: 'b', path: '/c', port: 443 }
    const own = { schema: schemaOf('integer'), subresources: { scale } }
    const { conversion, versions, preserveUnknownFields } = shownSpec(
      asStored({
        versions: [
          { ...v1, ...own, additionalPrinterColumns: [{ ...column, JSONPath: '.size' }] },
          { ...v2, schema: schemaOf('string') },
        ],
        conversion: {
          ...{ strategy: 'Webhook', webhookClientConfig: { service } },
          conversionReviewVersions: ['v1'],
        },
        preserveUnknownFields: false,
      }),
    )
    const webhook = { clientConfig: { service }, conversionReviewVersions: ['v1'] }
    t.same(conversion, { strategy: 'Webhook', webhook })
    t.same(versions, [
      { ...v1, ...own, additionalPrinterColumns: [{ ...column, jsonPath: '.size' }] },
      { ...v2, schema: schemaOf('string') },
    ])
    t.equal(preserveUnknownFields, undefined)
  },
)

t.test(
  'one from before there were several versions keeps fields that it does not know',
  async (t) => {
    const { versions, preserveUnknownFields } = shownSpec(
      asStored({ validation: schemaOf('string') }),
    )
    t.same(versions, [{ ...v1, schema: schemaOf('string') }])
    t.equal(preserveUnknownFields, true)
  },
)

t.test('custom resources are what a stored definition says', async (t) => {
  const driver = openMemory({ clock: systemClock })
  t.teardown(() => driver.close())
  const server = await startServer(t, { storage: driver })
  const key = '/registry/apiextensions.k8s.io/customresourcedefinitions/bars.example.com'
  await driver.txn([], [{ type: 'put', key, value: jsonOf(shared) }])
  const path = '/apis/example.com/v2/namespaces/default/bars'
  await eventually(
    'the definition is served',
    async () => (await call(server, { path })).status === 200,
  )
  const bar = { kind: 'Bar', apiVersion: 'example.com/v2', metadata: { name: 'a' } }
  const body = { ...bar, size: 3, more: 1 }
  const made = await call(server, { method: 'POST', path, body })
  t.equal(made.body.size, 3)
  t.equal(made.body.more, undefined)
  const changed = await call(server, {
    method: 'PATCH',
    path: '/apis/apiextensions.k8s.io/v1/customresourcedefinitions/bars.example.com',
    body: { metadata: { labels: { a: 'b' } } },
    headers: { 'content-type': 'application/merge-patch+json' },
  })
  t.match(changed.body, { apiVersion: 'apiextensions.k8s.io/v1', metadata: { uid: 'uid-bars' } })
  const { value } = (await driver.get(key)).kv!
  t.match(String(value), '"apiVersion":"apiextensions.k8s.io/v1","metadata"')
})

t.test('nothing is pruned where a definition says so', async (t) => {
  const driver = openMemory({ clock: systemClock })
  t.teardown(() => driver.close())
  const server = await startServer(t, { storage: driver })
  const key = '/registry/apiextensions.k8s.io/customresourcedefinitions/bars.example.com'
  const spec = { type: 'object', properties: { size: { type: 'integer' } } }
  const old = asStored({ validation: { openAPIV3Schema: { properties: { spec } } } })
  await driver.txn([], [{ type: 'put', key, value: jsonOf(old) }])
  const path = '/apis/example.com/v1/namespaces/default/bars'
  await eventually('it is served', async () => (await call(server, { path })).status === 200)
  const body = {
    kind: 'Bar',
    metadata: { name: 'a' },
    spec: { size: 3, more: { than: 1 } },
    top: 1,
  }
  const bar = { ...body, apiVersion: 'example.com/v1' }
  t.match((await call(server, { method: 'POST', path, body: bar })).body, bar)
  const applied = await call(server, {
    method: 'PATCH',
    path: `${path}/a?fieldManager=me&force=true`,
    body: { ...bar, spec: { size: 4, more: { than: 2 } } },
    headers: { 'content-type': 'application/apply-patch+yaml' },
  })
  t.match(applied.body.spec, { size: 4, more: { than: 2 } })
})

t.test('what cannot be read stays what it is', async (t) => {
  const unknown = inProtobuf({ apiVersion: 'v1', kind: 'Pod', metadata: {} })
  unknown.write('v9', unknown.indexOf('v1'))
  for (const value of [Buffer.from('k8s\0'), Buffer.from('k8s\0\xff\xff'), Buffer.from('garbage')])
    t.equal(read(value), value)
  t.match(parse(String(read(unknown))), { kind: 'Pod', apiVersion: 'v1' }, 'another version of Pod')
})

t.test('objects that kube-apiserver stored are served, watched, changed and deleted', async (t) => {
  const driver = openMemory({ clock: systemClock })
  t.teardown(() => driver.close())
  const server = await startServer(t, { storage: driver })
  const object = (name: string) => ({
    kind: 'ConfigMap',
    apiVersion: 'v1',
    metadata: { name, namespace: 'default', uid: `uid-${name}`, labels: { app: name } },
    data: { a: '1' },
  })
  const put = async (name: string, value: Buffer) => {
    const key = `/registry/configmaps/default/${name}`
    const { revision } = await driver.txn([], [{ type: 'put', key, value }])
    return String(revision)
  }
  const bytes = inProtobuf(object('bytes'))
  const revision = await put('bytes', bytes)
  await put('text', Buffer.from(`${JSON.stringify(object('text'))}\n`))
  const maps = '/api/v1/namespaces/default/configmaps'
  const wanted = object('bytes')
  const shown = { ...wanted, metadata: { ...wanted.metadata, resourceVersion: revision } }
  t.same((await call(server, { path: `${maps}/bytes` })).body, shown)
  t.match((await call(server, { path: `${maps}/text` })).text, /"data":\{"a":"1"\}\}\n$/)
  const list = await call(server, { path: `${maps}?labelSelector=app%20in%20(bytes,text)` })
  t.same(
    list.body.items.map(({ metadata }: KubeObject) => metadata.name),
    ['bytes', 'text'],
  )
  const before = Number(revision) - 1
  const query = `watch=1&resourceVersion=${before}&labelSelector=app%3Dbytes`
  const [event] = await openWatch(t, server, `${maps}?${query}`).lines(1)
  t.same(JSON.parse(event!).object, shown)
  const changed = await call(server, {
    method: 'PATCH',
    path: `${maps}/bytes`,
    body: { data: { a: '2' } },
    headers: { 'content-type': 'application/merge-patch+json' },
  })
  t.match(changed.body, { data: { a: '2' }, metadata: { uid: 'uid-bytes' } })
  t.match(
    String((await driver.get('/registry/configmaps/default/bytes')).kv!.value),
    /^\{"kind":"ConfigMap"/,
  )
  t.equal((await call(server, { method: 'DELETE', path: `${maps}/bytes` })).status, 200)
})
