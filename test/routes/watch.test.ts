/** Watches over HTTP: nothing twice, nothing left out, and a client that does not read costs little. */
import { once } from 'node:events'
import { setImmediate } from 'node:timers/promises'
import t from 'tap'
import { limits } from '#limits'
import type { WatchEvent } from './api-client.js'
import { startApiServer } from './api-server.js'

const configMaps = '/api/v1/namespaces/x/configmaps'

const versionOf = (event: WatchEvent | undefined): string => event?.object.metadata.resourceVersion
const summary = (events: WatchEvent[]): string[] =>
  events.map((e) => `${e.type} ${e.object.metadata.name}`)

t.test('a watch can be left and resumed at any event without gap or repetition', async (t) => {
  const { api } = await startApiServer(t)
  const { body: list } = await api.get(configMaps)
  const names = Array.from({ length: 12 }, (_, i) => `m${i}`)
  for (const name of names) await api.post(configMaps, { metadata: { name } })
  for (const name of names.slice(0, 6))
    await api.merge(`${configMaps}/${name}`, { data: { k: 'v' } })
  for (const name of names.slice(6)) await api.delete(`${configMaps}/${name}`)
  const seen: WatchEvent[] = []
  let from = list.metadata.resourceVersion
  for (const count of [1, 5, 2, 9, 7]) {
    const watch = await api.watch(`${configMaps}?watch=1&resourceVersion=${from}`)
    seen.push(...(await watch.take(count)))
    watch.close()
    from = versionOf(seen.at(-1))
  }
  t.same(summary(seen), [
    ...names.map((name) => `ADDED ${name}`),
    ...names.slice(0, 6).map((name) => `MODIFIED ${name}`),
    ...names.slice(6).map((name) => `DELETED ${name}`),
  ])
  const versions = seen.map((event) => Number(versionOf(event)))
  t.same(
    versions,
    [...new Set(versions)].sort((a, b) => a - b),
  )
})

t.test(
  'an object that enters a selection is ADDED, one that leaves it DELETED as it was',
  async (t) => {
    const { api } = await startApiServer(t)
    const { body: list } = await api.get(configMaps)
    const path = `${configMaps}/a`
    await api.post(configMaps, { metadata: { name: 'a', labels: { in: 'no' } } })
    await api.merge(path, { metadata: { labels: { in: 'yes' } } })
    await api.merge(path, { data: { k: 'v' } })
    const left = await api.merge(path, { metadata: { labels: { in: 'no' } } })
    await api.delete(path)
    await api.post(configMaps, { metadata: { name: 'b', labels: { in: 'yes' } } })
    const watch = await api.watch(
      `${configMaps}?watch=1&labelSelector=in=yes&resourceVersion=${list.metadata.resourceVersion}`,
    )
    const events = await watch.take(4)
    watch.close()
    t.same(summary(events), ['ADDED a', 'MODIFIED a', 'DELETED a', 'ADDED b'])
    t.same(events[2]?.object.metadata.labels, { in: 'yes' })
    t.equal(versionOf(events[2]), left.body.metadata.resourceVersion)
  },
)

t.test('initial events end with a bookmark that says so, and then it goes on live', async (t) => {
  const { api } = await startApiServer(t)
  await api.post(configMaps, { metadata: { name: 'a' } })
  const watch = await api.watch(
    `${configMaps}?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true`,
  )
  const [added, bookmark] = await watch.take(2)
  t.equal(added?.type, 'ADDED')
  t.match(bookmark, {
    type: 'BOOKMARK',
    object: {
      kind: 'ConfigMap',
      metadata: { annotations: { 'k8s.io/initial-events-end': 'true' } },
    },
  })
  t.ok(Number(versionOf(bookmark)) >= Number(versionOf(added)))
  await api.post(configMaps, { metadata: { name: 'b' } })
  t.same(summary(await watch.take(1)), ['ADDED b'])
  watch.close()
})

t.test('a watch with initial events is answered when its version has come', async (t) => {
  t.intercept(limits, 'futureRevisionWaitMs', { value: 120_000 })
  const { api } = await startApiServer(t)
  const { body: made } = await api.post(configMaps, { metadata: { name: 'a' } })
  const next = Number(made.metadata.resourceVersion) + 1
  const initial = `sendInitialEvents=true&resourceVersionMatch=NotOlderThan&resourceVersion=${next}`
  let isAnswered = false
  const opening = api.watch(`${configMaps}?watch=1&${initial}`).then((watch) => {
    isAnswered = true
    return watch
  })
  for (let i = 0; i < 3; i++) await api.get(configMaps)
  t.notOk(isAnswered, 'nothing is heard of it before')
  await api.post(configMaps, { metadata: { name: 'b' } })
  const watch = await opening
  t.same(summary(await watch.take(2)), ['ADDED a', 'ADDED b'])
  watch.close()
})

t.test('a watch ends when its time is over; errors before its start are answers', async (t) => {
  const { api } = await startApiServer(t)
  const { body } = await api.post(configMaps, { metadata: { name: 'a' } })
  const after = `resourceVersion=${body.metadata.resourceVersion}`
  const watch = await api.watch(`${configMaps}?watch=1&timeoutSeconds=1&${after}`)
  t.equal(watch.response.headers['content-type'], 'application/json')
  t.same(summary(await watch.rest()), [])
  const refused: [string, number][] = [
    ['resourceVersion=abc', 500],
    ['timeoutSeconds=abc', 400],
    ['labelSelector=a%20in', 400],
    ['sendInitialEvents=true', 422],
    ['resourceVersionMatch=Exact', 422],
  ]
  for (const [query, code] of refused)
    t.equal((await api.get(`${configMaps}?watch=1&${query}`)).code, code, query)
  const yaml = { headers: { accept: 'application/yaml' } }
  t.equal((await api.get(`${configMaps}?watch=1`, yaml)).code, 406)
})

t.test(
  'a version from the future is silence, or an error event where a list was asked for',
  async (t) => {
    const { api } = await startApiServer(t)
    const future = 'watch=1&timeoutSeconds=1&resourceVersion=99999999'
    const silent = await api.watch(`${configMaps}?${future}`)
    t.same(await silent.rest(), [])
    const listing = await api.watch(
      `${configMaps}?${future}&sendInitialEvents=true&resourceVersionMatch=NotOlderThan`,
    )
    const [error, ...more] = await listing.rest()
    t.match(error, { type: 'ERROR', object: { code: 504, reason: 'Timeout' } })
    t.match(error?.object.message, /^Timeout: Too large resource version: 99999999, current: [1-9]/)
    t.same(more, [])
  },
)

t.test('a bookmark is an empty object, with what its conversion writes into one', async (t) => {
  const { api } = await startApiServer(t)
  const query = 'watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan'
  const bookmarkOf = async (resource: string, accept = 'application/json') => {
    const path = `${resource}?${query}&allowWatchBookmarks=true&labelSelector=none`
    const watch = await api.watch(path, { headers: { accept } })
    const [bookmark] = await watch.take(1)
    watch.close()
    return bookmark?.object
  }
  t.strictSame((await bookmarkOf('/apis/apps/v1/daemonsets')).metadata.annotations, {
    'deprecated.daemonset.template.generation': '0',
    'k8s.io/initial-events-end': 'true',
  })
  const { spec } = await bookmarkOf('/apis/apps/v1/deployments')
  t.match(JSON.stringify(spec), /^{"replicas":0,"selector":null,/)
  t.strictSame((await bookmarkOf('/api/v1/replicationcontrollers')).spec, {})
  const cellsOf = async (resource: string) => {
    const table = await bookmarkOf(resource, 'application/json;as=Table;v=v1;g=meta.k8s.io')
    return table.rows[0].cells
  }
  const age = '<unknown>'
  t.strictSame(await cellsOf('/apis/apps/v1/deployments'), ['', '0/0', 0, 0, age, '', '', ''])
  t.strictSame(await cellsOf('/apis/networking.k8s.io/v1/ingressclasses'), ['', '', '<none>', age])
  t.strictSame(await cellsOf('/apis/scheduling.k8s.io/v1/priorityclasses'), ['', 0, false, age, ''])
  t.strictSame((await cellsOf('/apis/storage.k8s.io/v1/storageclasses')).slice(0, -1), [
    '',
    '',
    'Delete',
    'Immediate',
    false,
  ])
  for (const version of ['v1', 'v2']) {
    const cells = await cellsOf(`/apis/autoscaling/${version}/horizontalpodautoscalers`)
    t.strictSame(cells.slice(0, -1), ['', '/', '<none>', '<unset>', 0, 0], version)
  }
})

t.test('Tables and metadata alone are watched, too, and old paths still are', async (t) => {
  const { api } = await startApiServer(t)
  await api.post(configMaps, { metadata: { name: 'a' } })
  await api.post(configMaps, { metadata: { name: 'b' } })
  const as = (kind: string) => ({
    headers: { accept: `application/json;as=${kind};v=v1;g=meta.k8s.io` },
  })
  const table = await api.watch(`${configMaps}?watch=1`, as('Table'))
  const [first, second] = await table.take(2)
  table.close()
  t.equal(first?.object.columnDefinitions[0].name, 'Name')
  t.equal(second?.object.columnDefinitions, null, 'the header comes once')
  t.equal(second?.object.rows[0].cells[0], 'b')
  const apiServices = '/apis/apiregistration.k8s.io/v1/apiservices'
  for (const version of ['v1', 'v2']) {
    const service = { name: 's', namespace: 'x' }
    const priorities = { groupPriorityMinimum: 1, versionPriority: 1 }
    const spec = { group: 'a.b', version, service, insecureSkipTLSVerify: true, ...priorities }
    await api.post(apiServices, { metadata: { name: `${version}.a.b` }, spec })
  }
  const services = await api.watch(`${apiServices}?watch=1`, as('Table'))
  const headers = (await services.take(2)).map(({ object }) => object.columnDefinitions?.[1].name)
  services.close()
  t.same(headers, ['Service', 'Service'], 'those of APIServices come with every event')
  const partial = await api.watch(`${configMaps}?watch=1`, as('PartialObjectMetadata'))
  t.match((await partial.take(1))[0]?.object, { kind: 'PartialObjectMetadata' })
  partial.close()
  const old = await api.watch('/api/v1/watch/namespaces/x/configmaps/b')
  t.same(summary(await old.take(1)), ['ADDED b'])
  old.close()
  const refused = async (field: string) =>
    (await api.get(`/api/v1/watch/namespaces/x/configmaps/b?fieldSelector=${field}%3Da`)).body
      .message
  t.match(await refused('spec.x'), /"spec.x" is not a known field selector/)
  t.match(await refused('metadata.name'), /doesn't match requested name/)
  const posted = async (path: string) => (await api.post(`/api/v1/watch/${path}`, {})).code
  t.equal(await posted('namespaces/x/configmaps/b'), 405)
  t.equal(await posted('namespaces/x/pods/a/log'), 404, 'there is no such path for any method')
  t.equal(await posted('namespaces/x/bindings'), 404)
})

t.test('a client that does not read holds back only itself', async (t) => {
  const { api, streams } = await startApiServer(t)
  const text = 'x'.repeat(100_000)
  await api.post(configMaps, { metadata: { name: 'a' } })
  const { body: list } = await api.get(configMaps)
  const from = list.metadata.resourceVersion
  const slow = await api.watch(`${configMaps}?watch=1&resourceVersion=${from}`)
  slow.response.pause()
  const quick = await api.watch(`${configMaps}?watch=1&resourceVersion=${from}`)
  const waiting = (): number => {
    let bytes = 0
    for (const response of streams()) bytes += response.writableLength
    return bytes
  }
  const writes = 200
  let most = 0
  for (let i = 0; i < writes; i++) {
    await api.merge(`${configMaps}/a`, { data: { i: String(i), text } })
    await quick.take(1)
    most = Math.max(most, waiting())
  }
  quick.close()
  t.ok(most < 8_000_000, `${most} of ${writes * text.length} bytes wait for the slow client`)
  const events = await slow.take(writes)
  t.equal(events.at(-1)?.object.data.i, String(writes - 1), 'and it still gets everything')
  slow.close()
})

t.test('a client that goes while much waits for it is nothing to report', async (t) => {
  const { api, streams, reported } = await startApiServer(t)
  await api.post(configMaps, { metadata: { name: 'a' } })
  const watch = await api.watch(`${configMaps}?watch=1`)
  const [stream] = streams()
  watch.response.pause()
  const text = 'x'.repeat(500_000)
  const isBehind = (): boolean =>
    (stream?.socket?.writableLength ?? 0) > limits.clientSocketBytesMax
  for (let i = 0; !isBehind(); i++)
    await api.merge(`${configMaps}/a`, { data: { i: String(i), text } })
  const closed = once(stream!, 'close')
  watch.response.socket.resetAndDestroy()
  await closed
  await setImmediate()
  t.same(reported, [])
})

t.test('streams that end at once say why only where upstream does', async (t) => {
  const { api } = await startApiServer(t)
  await api.post(configMaps, { metadata: { name: 'a' } })
  const ended = async (query: string, headers: Record<string, string> = {}) => {
    const watch = await api.watch(`${configMaps}?watch=1&${query}`, { headers })
    return watch.rest()
  }
  t.same(await ended('timeoutSeconds=-1&resourceVersion=0'), [], 'over before it began')
  const accept = 'application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io'
  t.same(await ended('timeoutSeconds=60', { accept }), [], 'an object is no list')
  t.same(
    await ended('timeoutSeconds=1&sendInitialEvents=false&resourceVersionMatch=NotOlderThan'),
    [],
    'what is there already was not wanted',
  )
  const { body } = await api.get(`${configMaps}?fieldSelector=%3D`)
  t.equal(body.items.length, 1, 'an empty field selector term takes everything')
})
