/** A store that a kube-apiserver has written to: protobuf, and JSON as Go writes it. */
import t from 'tap'
import { systemClock } from '#api/clock.js'
import type { KubeObject } from '#api/object.js'
import { parse, stringify } from '#json/json.js'
import { groupKinds } from '#kinds/group-kinds.js'
import { kinds } from '#kinds/index.js'
import { storedProtobufReader } from '#registry/decode/stored-protobuf.js'
import { decodeObject } from '#registry/decode.js'
import { makeResourceTable } from '#registry/resource-table.js'
import { inProtobuf } from '#routes/answers/protobuf.js'
import { openMemory } from '#storage/memory/memory-driver.js'
import { call, openWatch, startServer } from '../server/start-server.js'

const table = makeResourceTable(kinds)
const read = storedProtobufReader(table)

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
