/** Lists go out in memory that later lists use again: whoever reads slowly, or leaves, gets and spoils nothing of others. */
import { once } from 'node:events'
import http from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { gunzipSync } from 'node:zlib'
import t from 'tap'
import { systemClock } from '#api/clock.js'
import { formatYaml } from '#json/yaml.js'
import { openMemory } from '#storage/memory/memory-driver.js'
import { startApiServer } from './api-server.js'

const kilobyte = 1024
/** From nearly nothing to what fills several segments by itself; together more than sockets take from who does not read. */
const sizes = [1, 10, 300, 100, 127, 128, 2, ...new Array<number>(12).fill(900)]

t.test('lists at once, slow and broken off ones among them, show what is stored', async (t) => {
  const { api, url } = await startApiServer(t)
  const path = '/api/v1/namespaces/x/configmaps'
  const expected = []
  for (const [i, size] of sizes.entries()) {
    const data = { text: `${i} é `.repeat((size * kilobyte) / 6) }
    const name = `m${String(i).padStart(2, '0')}`
    const { body } = await api.post(path, { metadata: { name }, data })
    const { kind: _kind, apiVersion: _version, ...item } = body
    expected.push(item)
  }
  const open = async (): Promise<http.IncomingMessage> => {
    const request = http.get(url + path, { agent: false })
    const [response] = await once(request, 'response')
    return response as http.IncomingMessage
  }
  const slow = await open()
  const left = await Promise.all([open(), open(), open()])
  await sleep(20)
  for (const response of left) response.destroy()
  const lists = await Promise.all([api.get(path), api.get(path), api.get(path)])
  for (const { body, text, headers } of lists) {
    t.same(body.items, expected)
    t.equal(Buffer.byteLength(text), Number(headers['content-length']))
  }
  const chunks: Buffer[] = []
  for await (const chunk of slow) chunks.push(chunk as Buffer)
  t.same(JSON.parse(Buffer.concat(chunks).toString()).items, expected)
})

t.test('lists that are asked for again show what was written in between', async (t) => {
  const { api } = await startApiServer(t)
  const secretsIn = (namespace: string) => `/api/v1/namespaces/${namespace}/secrets`
  const write = (namespace: string, name: string, app: string, type: string) =>
    api.post(secretsIn(namespace), { metadata: { name, labels: { app } }, type })
  const paths = ['/api/v1/secrets', secretsIn('x')]
  const check = async (when: string) => {
    // What was asked for last before a write is asked for first after it.
    paths.reverse()
    for (const path of paths) {
      const all = (await api.get(path)).body
      type Item = { metadata: { labels: { app: string } }; type: string }
      const isA = ({ metadata }: Item) => metadata.labels.app === 'a'
      const isOne = ({ type }: Item) => type === 'one'
      for (const [query, shows] of [
        ['labelSelector=app%3Da', isA],
        ['fieldSelector=type%3Done', isOne],
      ] as const)
        for (const time of ['first', 'second', 'third']) {
          const { body, text, headers } = await api.get(`${path}?${query}`)
          t.same(body, { ...all, items: all.items.filter(shows) }, `${when}: ${query}, ${time}`)
          t.equal(Buffer.byteLength(text), Number(headers['content-length']))
        }
    }
  }
  for (const namespace of ['x', 'y'])
    for (let i = 0; i < 20; i++)
      await write(namespace, `s${i}`, i % 2 ? 'a' : 'b', i % 3 ? 'one' : 'two')
  await check('written')
  // The list is more than one segment from now on.
  await api.merge(`${secretsIn('x')}/s1`, { stringData: { text: 'é'.repeat(100_000) } })
  await check('one of them changed')
  await api.merge(`${secretsIn('x')}/s3`, { metadata: { labels: { app: 'b' } } })
  await check('one left')
  await api.merge(`${secretsIn('x')}/s2`, { metadata: { labels: { app: 'a' } } })
  await check('one came')
  await api.delete(`${secretsIn('x')}/s5`)
  await check('one was deleted')
  await write('x', 'another', 'a', 'one')
  await check('one was created')
})

t.test('an unknown match is refused in the words of its Go type', async (t) => {
  const { api } = await startApiServer(t)
  const path = '/api/v1/namespaces/default/configmaps?resourceVersion=1&resourceVersionMatch=%3Cx'
  const { code, body } = await api.get(path)
  t.equal(code, 422)
  t.match(
    body.message,
    'Unsupported value: "\\u003cx": supported values: "Exact", "NotOlderThan", ""',
  )
})

t.test('a limit with a version means that very version of a range, not of one name', async (t) => {
  const { api } = await startApiServer(t)
  const labels = (list: { items: { metadata: { labels?: object } }[] }) =>
    list.items.map((i) => i.metadata.labels)
  for (const resource of ['configmaps', 'events']) {
    const path = `/api/v1/namespaces/x/${resource}`
    const involvedObject = { namespace: 'x' }
    const first = (await api.post(path, { metadata: { name: 'a' }, involvedObject })).body
    await api.merge(`${path}/a`, { metadata: { labels: { x: 'y' } } })
    const query = `resourceVersion=${first.metadata.resourceVersion}`
    const list = async (more: string) => labels((await api.get(`${path}?${query}${more}`)).body)
    const named = '&fieldSelector=metadata.name%3Da'
    t.same(await list('&limit=1'), [undefined])
    t.same(await list(`&limit=1${named}`), [{ x: 'y' }])
    t.same(await list(`&limit=1${named}&resourceVersionMatch=Exact`), [undefined])
    const dryRun = { dryRun: ['All'] }
    const deleted = async (more: string) =>
      labels((await api.delete(`${path}?${query}${more}`, dryRun)).body)
    t.same(await deleted(''), [undefined], 'a collection delete lists in pages')
    t.same(await deleted(named), [{ x: 'y' }])
  }
})

t.test('a limit does not count at version "0", and at no other spelling of it', async (t) => {
  const { api } = await startApiServer(t)
  const lengths = async (resource: string, version: string, method = 'GET') => {
    const path = `/api/v1/namespaces/x/${resource}?dryRun=All&limit=1&resourceVersion=${version}`
    const { items, metadata } = (await api.send(method, path)).body
    return [items.length, metadata.remainingItemCount]
  }
  for (const resource of ['configmaps', 'events'])
    for (const name of ['a', 'b', 'c'])
      await api.post(`/api/v1/namespaces/x/${resource}`, {
        metadata: { name },
        involvedObject: { namespace: 'x' },
      })
  t.same(await lengths('configmaps', '0'), [3, undefined])
  t.same(await lengths('configmaps', '00'), [1, 2])
  t.same(await lengths('events', '0'), [1, 2], 'upstream keeps no cache of events')
  const all = { raw: JSON.stringify({ dryRun: ['All'] }) }
  const path = '/api/v1/namespaces/x/configmaps?limit=1&resourceVersion=0'
  const deleted = (await api.send('DELETE', path, all)).body
  t.same([deleted.items.length, deleted.metadata.continue], [3, undefined], 'nor to a delete')
  for (const [resource, start, left] of [
    ['configmaps', '/a\0', ['b', 'c']],
    ['events', 'a\0', ['b']],
  ] as const) {
    const list = (query: string) => api.get(`/api/v1/namespaces/x/${resource}?limit=1${query}`)
    const { continue: token } = (await list('')).body.metadata
    t.equal(JSON.parse(Buffer.from(token, 'base64url').toString()).start, start)
    const { items } = (await list(`&resourceVersion=0&continue=${token}`)).body
    const names = items.map((item: { metadata: { name: string } }) => item.metadata.name)
    t.same(names, left, 'nor to what goes on')
  }
})

t.test('what goes on is a page of all, even where it asks for one name', async (t) => {
  const { api } = await startApiServer(t)
  const path = '/api/v1/namespaces/x/configmaps'
  for (const name of ['a', 'b', 'c']) await api.post(path, { metadata: { name } })
  const first = (await api.get(`${path}?limit=1`)).body.metadata.continue
  const named = async (more: string) =>
    (await api.get(`${path}?fieldSelector=metadata.name%3Db${more}`)).body
  t.equal((await named('&limit=1')).metadata.continue, undefined)
  const page = await named(`&limit=1&continue=${first}`)
  t.equal(page.items[0].metadata.name, 'b')
  const last = await named(`&limit=1&continue=${page.metadata.continue}`)
  t.same(last, { ...last, items: [], metadata: { resourceVersion: last.metadata.resourceVersion } })
})

t.test('a token of a version that is gone is refused with one that goes on', async (t) => {
  const clock = systemClock
  const driver = openMemory({ clock })
  const { api } = await startApiServer(t, { clock, driver })
  const path = '/api/v1/namespaces/x/configmaps'
  for (const name of ['a', 'b', 'c']) await api.post(path, { metadata: { name } })
  const { metadata } = (await api.get(`${path}?limit=1`)).body
  await api.post(path, { metadata: { name: 'd' } })
  await driver.compact(Number(metadata.resourceVersion) + 1)
  for (const method of ['GET', 'DELETE']) {
    const refused = await api.send(method, `${path}?limit=1&continue=${metadata.continue}`)
    t.match(refused, { code: 410, body: { reason: 'Expired' } }, method)
    const { continue: next } = refused.body.metadata
    const { items } = (await api.get(`${path}?limit=1&continue=${next}`)).body
    t.equal(items[0].metadata.name, 'b', method)
  }
})

t.test(
  'what has no namespace is not selected by one, where its kind has field labels of its own',
  async (t) => {
    const { api } = await startApiServer(t)
    const refused: Record<string, string | undefined> = {
      '/api/v1/nodes': 'field label not supported: metadata.namespace',
      '/api/v1/namespaces': 'field label not supported: metadata.namespace',
      '/apis/resource.k8s.io/v1/resourceslices':
        'field label not supported for resource.k8s.io/v1, Kind=ResourceSlice: metadata.namespace',
      '/apis/rbac.authorization.k8s.io/v1/clusterroles': undefined,
      '/api/v1/events': undefined,
    }
    const escaped = await api.get('/apis/batch/v1/jobs?fieldSelector=a%5C%2Cb%3Dx')
    t.equal(escaped.body.message, 'field label "a\\\\,b" not supported for Job')
    for (const [path, message] of Object.entries(refused)) {
      const { body } = await api.get(`${path}?fieldSelector=metadata.namespace%3Dx`)
      t.equal(body.message, message, path)
    }
  },
)

t.test(
  'what is deprecated says so with every answer of a handler, not of the router',
  async (t) => {
    const { api } = await startApiServer(t)
    const path = '/api/v1/namespaces/x/endpoints'
    const warned = async (target: string, accept: string) =>
      (await api.send('GET', target, { headers: { accept } })).headers.warning !== undefined
    t.equal(await warned(`${path}/none`, 'application/json'), true)
    t.equal(await warned(path, 'application/json;stream=watch;as=Table;v=v2;g=meta.k8s.io'), true)
    t.equal(await warned(path, 'text/html'), false)
    t.equal(await warned(`${path}/none`, 'application/cbor'), false)
    const patched = async (type: string) =>
      (await api.send('PATCH', `${path}/none`, { raw: '{}', type })).headers.warning !== undefined
    t.equal(await patched('application/merge-patch+json'), true)
    t.equal(await patched('application/json'), false)
  },
)

const meta = 'v=v1;g=meta.k8s.io'

/** Tables tell seconds. */
const ageless = (text: string): string => text.replace(/\b\d+s\b/g, 'some')

t.test('what is made of many objects goes out as it is made, and shows the same', async (t) => {
  const { api, url } = await startApiServer(t)
  const path = '/api/v1/namespaces/x/configmaps'
  const expected = []
  for (let i = 0; i < 6; i++) {
    const metadata = { name: `m${i}`, annotations: { text: `"}\\ é ${i} `.repeat(12 * kilobyte) } }
    const { body } = await api.post(path, { metadata, data: { metadata: '{' } })
    expected.push({
      kind: 'PartialObjectMetadata',
      apiVersion: 'meta.k8s.io/v1',
      metadata: body.metadata,
    })
  }
  const read = async (accept: string, gzip: boolean, query = '') => {
    const headers = { accept, ...(gzip ? { 'accept-encoding': 'gzip' } : {}) }
    const asked = http.get(url + path + query, { headers, agent: false })
    const [response] = await once(asked, 'response')
    const chunks: Buffer[] = []
    for await (const chunk of response) chunks.push(chunk as Buffer)
    const bytes = Buffer.concat(chunks)
    const { headers: answered } = response as http.IncomingMessage
    t.equal(answered['content-encoding'], gzip ? 'gzip' : undefined)
    t.equal(answered['content-length'], undefined, 'nobody waits for the whole')
    return (gzip ? gunzipSync(bytes) : bytes).toString()
  }
  const readJson = async (accept: string, gzip: boolean) => JSON.parse(await read(accept, gzip))
  const whole = (await api.send('GET', path)).body
  for (const gzip of [false, true]) {
    t.equal(await read('application/yaml', gzip), formatYaml(whole))
    const partial = await readJson(`application/json;as=PartialObjectMetadataList;${meta}`, gzip)
    t.equal(partial.kind, 'PartialObjectMetadataList')
    t.same(partial.items, expected)
    const table = await readJson(`application/json;as=Table;${meta}`, gzip)
    t.equal(table.metadata.resourceVersion, partial.metadata.resourceVersion)
    t.same(
      table.rows.map(({ object }: { object: unknown }) => object),
      expected,
    )
    t.equal(table.rows[5].cells[0], 'm5')
    const forms = [
      ['', whole],
      [`;as=PartialObjectMetadataList;${meta}`, partial],
      [`;as=Table;${meta}`, table],
    ] as const
    for (const [form, value] of forms) {
      const indented = await read(`application/json${form}`, gzip, '?pretty=1')
      t.equal(ageless(indented), ageless(JSON.stringify(value, null, 2)), `indented${form}`)
      const inYaml = await read(`application/yaml${form}`, gzip)
      t.equal(ageless(inYaml), ageless(formatYaml(value)), `YAML${form}`)
    }
  }
  const none = await api.get('/api/v1/namespaces/none/configmaps?pretty=1')
  t.equal(none.text, JSON.stringify(none.body, null, 2))
  t.same(none.body.items, [])
})

t.test('rows of flow schemas stand as requests are matched with them', async (t) => {
  const { api } = await startApiServer(t)
  const path = '/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas'
  const priorityLevelConfiguration = { name: 'global-default' }
  for (const [name, matchingPrecedence] of [
    ['a', 900],
    ['d', 50],
    ['b', 50],
    ['c', 7_000],
  ])
    await api.post(path, {
      metadata: { name },
      spec: { matchingPrecedence, priorityLevelConfiguration },
    })
  const { items } = (await api.get(path)).body
  t.same(
    items.map((item: { metadata: { name: string } }) => item.metadata.name),
    ['a', 'b', 'c', 'd'],
  )
  const table = (type: string) =>
    api.get(path, { headers: { accept: `application/${type};as=Table;v=v1;g=meta.k8s.io` } })
  const { rows } = (await table('json')).body
  t.same(
    rows.map((row: { cells: string[] }) => row.cells[0]),
    ['b', 'd', 'a', 'c'],
  )
  const inYaml = (await table('yaml')).text
  t.same(
    Array.from(inYaml.matchAll(/^ +- ([abcd])$/gm), ([, name]) => name),
    ['b', 'd', 'a', 'c'],
  )
})

t.test(
  'the first page of the Pods of a node is the last if no more of that node follow',
  async (t) => {
    const { api } = await startApiServer(t)
    const path = '/api/v1/namespaces/x/pods'
    for (const [name, nodeName] of Object.entries({
      a: 'one',
      b: 'one',
      c: 'two',
      d: 'one',
      e: 'two',
    }))
      await api.post(path, {
        metadata: { name, labels: { is: name } },
        spec: { nodeName, containers: [{ name: 'c', image: 'i' }] },
      })
    const page = async (query: string): Promise<[string, string | undefined]> => {
      const { items, metadata } = (await api.get(`${path}?${query}`)).body
      const names = items.map((pod: { metadata: { name: string } }) => pod.metadata.name)
      return [names.join(''), metadata.continue]
    }
    const node = 'fieldSelector=spec.nodeName%3Done'
    t.same(await page(`${node}&limit=3`), ['abd', undefined])
    t.same(await page(`${node}&labelSelector=is%3Dd&limit=1`), ['d', undefined])
    t.same(await page(`${node}&limit=3&resourceVersion=1&resourceVersionMatch=NotOlderThan`), [
      'abd',
      undefined,
    ])
    const [names, next] = await page(`${node}&limit=2`)
    t.equal(names, 'ab')
    for (const query of [
      `${node}&limit=1&continue=${next}`,
      `${node}&labelSelector=is%3Db&limit=1`,
      `fieldSelector=status.phase%3DPending&limit=4`,
    ])
      t.ok((await page(query))[1], query)
  },
)

t.test('Pods are also selected by the former name of the field of their node', async (t) => {
  const { api } = await startApiServer(t)
  const path = '/api/v1/namespaces/x/pods'
  for (const [name, nodeName] of Object.entries({ a: 'one', b: 'two', c: '' }))
    await api.post(path, {
      metadata: { name },
      spec: { nodeName, containers: [{ name: 'c', image: 'i' }] },
    })
  const names = async (selector: string) => {
    const { body } = await api.get(`${path}?fieldSelector=${encodeURIComponent(selector)}`)
    return body.items?.map((pod: { metadata: object }) => pod.metadata) ?? body.message
  }
  t.match(await names('spec.host=two'), [{ name: 'b' }])
  t.match(await names('spec.host!=two,spec.nodeName!='), [{ name: 'a' }])
  t.match(await names('spec.Host=two'), 'field label not supported: spec.Host')
})
