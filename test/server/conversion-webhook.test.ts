/** Versions of a custom resource that a webhook converts: every verb speaks its own version, storage holds one. */
import t, { type Test } from 'tap'
import type { Server } from '#src/index.js'
import { eventually } from '../eventually.js'
import { definitionOf, textsOf, versionOf } from './definition-body.js'
import { call, clientOf, isServed, openWatch, startServer } from './start-server.js'
import { type Review, startWebhook, type WebhookServer } from './webhook-server.js'

const group = 'edges.example.com'
const path = (version: string, name = '') =>
  `/apis/${group}/${version}/namespaces/default/addresses${name && `/${name}`}`

/** v1 has host and port, v2 has both in one field. */
const convert = (object: Review, apiVersion: string): Review => {
  if (object.apiVersion === apiVersion) return object
  const { host, port, hostPort = '', ...rest } = object.spec ?? {}
  const [first, second] = hostPort.split(':')
  const spec = apiVersion.endsWith('v2')
    ? { ...rest, hostPort: `${host}:${port}` }
    : { ...rest, host: first, port: second }
  return { ...object, apiVersion, spec }
}

const version = (name: string, storage: boolean, fields: readonly string[]) =>
  versionOf(
    name,
    { type: 'object', properties: { spec: textsOf(fields) } },
    { storage, selectableFields: [{ jsonPath: `.spec.${fields[0]}` }] },
  )

const crds = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions'

const define = async (server: Server, { clientConfig }: WebhookServer): Promise<void> => {
  const names = {
    plural: 'addresses',
    singular: 'address',
    kind: 'Address',
    listKind: 'AddressList',
  }
  const body = definitionOf({
    group,
    scope: 'Namespaced',
    names,
    versions: [version('v1', true, ['host', 'port']), version('v2', false, ['hostPort'])],
    conversion: {
      strategy: 'Webhook',
      webhook: { conversionReviewVersions: ['v1'], clientConfig },
    },
  })
  await call(server, { method: 'POST', path: crds, body })
  await isServed(server, path('v1'))
}

const start = async (t: Test) => {
  let alter = (objects: Review[]): object => ({ convertedObjects: objects })
  const webhook = await startWebhook(t, ({ request }) => ({
    result: { status: 'Success' },
    ...alter(request.objects.map((o: Review) => convert(o, request.desiredAPIVersion))),
  }))
  const server = await startServer(t)
  await define(server, webhook)
  const create = (v: string, name: string, spec: object) =>
    call(server, {
      method: 'POST',
      path: path(v),
      body: { apiVersion: `${group}/${v}`, kind: 'Address', metadata: { name }, spec },
    })
  return {
    server,
    webhook,
    create,
    answerWith: (other: typeof alter) => {
      alter = other
    },
  }
}

t.test('each version reads, lists, writes, patches and selects in its own words', async (t) => {
  const { server, webhook, create } = await start(t)
  t.match((await create('v2', 'a', { hostPort: 'h:1' })).body, { spec: { hostPort: 'h:1' } })
  await create('v1', 'b', { host: 'x', port: '2' })
  t.match((await call(server, { path: path('v1', 'a') })).body, {
    apiVersion: `${group}/v1`,
    spec: { host: 'h', port: '1' },
  })
  const patched = await call(server, {
    method: 'PATCH',
    path: path('v2', 'b'),
    body: { spec: { hostPort: 'y:3' } },
    headers: { 'content-type': 'application/merge-patch+json' },
  })
  t.match(patched.body, { metadata: { generation: 2 }, spec: { hostPort: 'y:3' } })
  const list = await call(server, { path: `${path('v2')}?fieldSelector=spec.hostPort%3Dy:3` })
  t.same(
    list.body.items.map((item: Review) => [item.apiVersion, item.metadata.name, item.spec]),
    [[`${group}/v2`, 'b', { hostPort: 'y:3' }]],
  )
  const asked = webhook.reviews.length
  await call(server, { path: path('v2') })
  await call(server, { path: path('v2', 'a') })
  t.equal(webhook.reviews.length, asked, 'what was converted once is not converted again')
})

t.test('integers beyond what a double counts exactly come back as they were sent', async (t) => {
  const { server, answerWith } = await start(t)
  answerWith((objects) => ({
    convertedObjects: objects.map(({ metadata, ...rest }) => ({
      ...rest,
      metadata: { ...metadata, labels: { large: 'yes' } },
      large: 2n ** 53n + 1n,
    })),
  }))
  const add = (index: number) => ({
    op: 'add',
    path: `/spec/versions/${index}/schema/openAPIV3Schema/properties/large`,
    value: { type: 'integer', format: 'int64' },
  })
  await call(server, {
    method: 'PATCH',
    path: `${crds}/addresses.${group}`,
    body: [add(0), add(1)],
    headers: { 'content-type': 'application/json-patch+json' },
  })
  const sent = async (name: string) =>
    call(server, {
      method: 'POST',
      path: path('v2'),
      body: { apiVersion: `${group}/v2`, kind: 'Address', metadata: { name } },
    })
  let tries = 0
  await eventually('both versions have the field', async () =>
    (await sent(`a${tries++}`)).text.includes('"large":9007199254740993'),
  )
})

t.test('a watch sees objects enter and leave its selection in its own version', async (t) => {
  const { server, create } = await start(t)
  const first = (await create('v1', 'a', { host: 'h', port: '1' })).body
  const selector = 'fieldSelector=spec.hostPort%3Dh:2'
  const query = `watch=1&${selector}&resourceVersion=${first.metadata.resourceVersion}`
  const watch = openWatch(t, server, `${path('v2')}?${query}`)
  const put = (spec: object) =>
    call(server, {
      method: 'PATCH',
      path: path('v1', 'a'),
      body: { spec },
      headers: { 'content-type': 'application/merge-patch+json' },
    })
  await put({ port: '2' })
  await put({ port: '3' })
  const events = await watch.lines(2)
  t.same(
    events.map((line) => JSON.parse(line)).map(({ type, object }) => [type, object.spec]),
    [
      ['ADDED', { hostPort: 'h:2' }],
      ['DELETED', { hostPort: 'h:2' }],
    ],
  )
})

t.test('a watch waits for a webhook that fails, and goes on when it is back', async (t) => {
  const { server, create, answerWith } = await start(t)
  await create('v1', 'a', { host: 'h', port: '1' })
  const client = await clientOf(t, server)
  const stopping = new AbortController()
  t.teardown(() => stopping.abort())
  const gvr = { group, version: 'v2', resource: 'addresses', kind: 'Address', namespaced: true }
  const events = client.watch(gvr, { resourceVersion: '0', signal: stopping.signal })
  const iterator = events[Symbol.asyncIterator]()
  const next = async () => {
    const { value } = await iterator.next()
    return [value.type, value.object.metadata.name]
  }
  t.same(await next(), ['ADDED', 'a'])
  let failures = 0
  answerWith(() => {
    failures++
    return { result: { status: 'Failure', message: 'away' } }
  })
  await create('v1', 'b', { host: 'h', port: '2' })
  const waited = next()
  await eventually('it was asked again', () => failures > 1)
  answerWith((convertedObjects) => ({ convertedObjects }))
  t.same(await waited, ['ADDED', 'b'])
})

t.test('a version is not listed before all objects could be converted to it once', async (t) => {
  const { server, create, answerWith } = await start(t)
  answerWith(() => ({ result: { status: 'Failure', message: 'away' } }))
  await create('v1', 'a', { host: 'h', port: '1' })
  const problem = `conversion webhook for ${group}/v1, Kind=Address failed: away`
  const list = await call(server, { path: path('v2') })
  t.match(
    list.body,
    { code: 500, message: problem },
    'there was no object when it was first served',
  )
  await call(server, {
    method: 'PATCH',
    path: `${crds}/addresses.${group}`,
    body: { spec: { names: { shortNames: ['ad'] } } },
    headers: { 'content-type': 'application/merge-patch+json' },
  })
  await eventually('the definition is served anew', async () => {
    const { body } = await call(server, { path: `/apis/${group}/v1` })
    return body.resources[0].shortNames?.length === 1
  })
  const refusal = {
    code: 429,
    reason: 'TooManyRequests',
    message: `storage is (re)initializing: failed to list ${group}/v2, Kind=Address: ${problem}`,
    details: { retryAfterSeconds: 1 },
  }
  const get = (query: string) => call(server, { path: `${path('v2')}${query}` })
  for (const query of ['', '?limit=1&labelSelector=a', '?resourceVersion=0', '?watch=true'])
    t.match((await get(query)).body, refusal, query)
  t.match((await get('?limit=1')).body, { code: 500, message: problem }, 'a page of the store')
  t.equal((await call(server, { path: path('v1') })).status, 200)
  answerWith((convertedObjects) => ({ convertedObjects }))
  t.equal((await get('')).body.items.length, 1)
  answerWith(() => ({ result: { status: 'Failure', message: 'away' } }))
  t.equal((await get('')).body.items.length, 1, 'what was converted is kept')
})

t.test('mistakes of the webhook are reported in upstream’s words', async (t) => {
  const { server, create, answerWith } = await start(t)
  const prefix = `conversion webhook for ${group}/v2, Kind=Address`
  const cases: [string, (objects: Review[]) => object][] = [
    ['failed: no', () => ({ result: { status: 'Failure', message: 'no' } })],
    ['returned 0 objects, expected 1', () => ({ convertedObjects: [] })],
    [
      'returned invalid object: must have the same name: a != b',
      ([o]) => ({ convertedObjects: [{ ...o, metadata: { ...o.metadata, name: 'b' } }] }),
    ],
    [
      `returned invalid object at index 0: invalid groupVersion (expected ${group}/v1, received ${group}/v9)`,
      ([o]) => ({ convertedObjects: [{ ...o, apiVersion: `${group}/v9` }] }),
    ],
    [
      'failed: json: cannot unmarshal object into Go struct field ConversionResponse.response.convertedObjects of type []runtime.RawExtension',
      () => ({ convertedObjects: {} }),
    ],
    [
      'failed: json: cannot unmarshal string into Go struct field Status.response.result.code of type int32',
      (convertedObjects) => ({ convertedObjects, result: { status: 'Success', code: '200' } }),
    ],
  ]
  for (const [why, alter] of cases) {
    answerWith(alter)
    const { body } = await create('v2', 'a', { hostPort: 'h:1' })
    t.match(body, { code: 500, message: `${prefix} ${why}` })
  }
  for (const [object, message] of [
    ['x', 'json: cannot unmarshal string into Go value of type map[string]interface {}'],
    [null, 'unexpected end of JSON input'],
  ]) {
    answerWith(() => ({ convertedObjects: [object] }))
    t.match((await create('v2', 'a', {})).body, { code: 500, message })
  }
  answerWith((objects) => ({ convertedObjects: objects }))
  t.equal((await call(server, { path: path('v1', 'a') })).status, 404, 'nothing was written')
})
