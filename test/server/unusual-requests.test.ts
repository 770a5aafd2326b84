/** Requests that few clients make, answered as kube-apiserver 1.36.3 answered them. */
import { once } from 'node:events'
import { createServer, type IncomingMessage } from 'node:http'
import https from 'node:https'
import { json } from 'node:stream/consumers'
import t from 'tap'
import certificateSigningRequest from '#kinds/certificates/certificate-signing-request.js'
import { definitionOf, versionOf } from './definition-body.js'
import { call, isServed, startServer } from './start-server.js'

const server = await startServer(t)
const get = (path: string, accept = 'application/json') =>
  call(server, { path, headers: { accept } })
const post = (path: string, body: unknown) => call(server, { method: 'POST', path, body })
const table = 'application/json;as=Table;v=v1;g=meta.k8s.io'
const partial = 'application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io'
const inDefault = '/api/v1/namespaces/default'

t.test('a verb in the path without anything to do is known before its sender', async (t) => {
  const answer = await call(server, { path: '/apis/apps/v1/watch?a=1&b', token: 'none' })
  t.equal(answer.status, 500)
  t.equal(
    answer.text,
    'Internal Server Error: "/apis/apps/v1/watch?a=1&amp;b": failed to create RequestInfo: unable to determine kind and namespace from url, /apis/apps/v1/watch?a=1&amp;b\n',
  )
  t.equal(answer.headers['x-content-type-options'], 'nosniff')
  t.ok(answer.headers['audit-id'])
  t.equal(answer.headers['cache-control'], undefined)
})

t.test('nothing is served below the former proxies', async (t) => {
  for (const method of ['GET', 'POST', 'DELETE']) {
    const path = '/api/v1/proxy/namespaces/default'
    t.match((await call(server, { method, path })).body, { code: 404, reason: 'NotFound' }, method)
  }
})

t.test('the options of a log are checked before the Pod is looked up', async (t) => {
  t.equal((await get(`${inDefault}/pods/none/log`)).status, 404)
  t.equal((await get(`${inDefault}/pods/none/log`, table)).status, 406)
  t.equal((await get(`${inDefault}/pods/none/log`, 'text/plain')).status, 406)
  const containers = [{ name: 'c', image: 'i' }]
  await post(`${inDefault}/serviceaccounts`, { metadata: { name: 'default' } })
  t.equal(
    (await post(`${inDefault}/pods`, { metadata: { name: 'p' }, spec: { containers } })).status,
    201,
  )
  t.equal((await get(`${inDefault}/pods/p/log`)).status, 204)
  t.match((await get(`${inDefault}/pods/p/log`, partial)).body, {
    code: 500,
    message: 'object does not implement the Object interfaces',
  })
  t.match((await get(`${inDefault}/pods/p/log`, partial.replace(';v=', 'List;v='))).body, {
    code: 406,
    message:
      'you requested PartialObjectMetadataList, but the requested object is not a list (*rest.LocationStreamer)',
  })
})

t.test(
  'a Pod is not evicted while its labels are those that only a binding may write',
  async (t) => {
    const pod = `${inDefault}/pods/p`
    const labels = { 'no key!': 'x' }
    const binding = { metadata: { name: 'p', labels }, target: { kind: 'Node', name: 'n' } }
    t.equal((await post(`${pod}/binding`, binding)).status, 201)
    const eviction = { apiVersion: 'policy/v1', kind: 'Eviction', metadata: { name: 'p' } }
    const { body } = await post(`${pod}/eviction`, eviction)
    t.match(body, {
      code: 422,
      message: /^Pod "p" is invalid: metadata.labels: Invalid value: "no key!"/,
    })
    t.equal((await get(pod)).body.status.conditions.length, 1, 'nor marked as evicted')
  },
)

t.test('the status of a definition has no table', async (t) => {
  const definitions = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions'
  t.equal((await get(`${definitions}/none/status`, table)).status, 406)
  t.equal((await get(`${definitions}/none`, table)).status, 404)
})

t.test(
  'a version that cannot be read is the fault of who asks where no cache is asked',
  async (t) => {
    const message =
      'resourceVersion: Invalid value: "x": strconv.ParseUint: parsing "x": invalid syntax'
    t.match((await get(`${inDefault}/events/e?resourceVersion=x`)).body, {
      code: 400,
      reason: 'BadRequest',
      message: `invalid resource version: ${message}`,
    })
    t.match((await get(`${inDefault}/configmaps/e?resourceVersion=x`)).body, { code: 500, message })
  },
)

t.test('a list of what no object can be called waits as any list does', async (t) => {
  const list = async (name: string) => {
    const query = `resourceVersion=999999999&limit=3&fieldSelector=metadata.name%3D${name}`
    return (await get(`/api/v1/nodes?${query}`)).headers['retry-after']
  }
  t.equal(await list('..'), '1')
})

t.test('kinds that do not check metadata themselves report their own errors first', async (t) => {
  const causes = async (path: string, body: unknown): Promise<string[]> =>
    (await post(path, body)).body.details.causes.map(({ field }: { field: string }) => field)
  const about = { involvedObject: { namespace: 'other' } }
  t.strictSame(await causes(`${inDefault}/events`, about), ['involvedObject.namespace'])
  t.strictSame(await causes(`${inDefault}/events`, { involvedObject: { namespace: 'default' } }), [
    'metadata.name',
  ])
  const labels = { '/': 'x' }
  const budget = (spec: object) => ({ metadata: { name: 'b', labels }, spec })
  const budgets = '/apis/policy/v1/namespaces/default/poddisruptionbudgets'
  t.strictSame(await causes(budgets, budget({ minAvailable: 1, maxUnavailable: 1 })), ['spec'])
  t.strictSame(
    [...new Set(await causes(budgets, budget({ minAvailable: 1 })))],
    ['metadata.labels'],
  )
})

t.test('a request for a certificate may have any name that a path can hold', async (t) => {
  const requests = '/apis/certificates.k8s.io/v1/certificatesigningrequests'
  const { spec } = certificateSigningRequest.sample
  t.equal((await post(requests, { metadata: { name: 'Node_1' }, spec })).status, 201)
  t.match(
    (await post(requests, { metadata: { name: 'a/b' }, spec })).body.message,
    /metadata\.name: Invalid value: "a\/b": may not contain '\/'$/,
  )
})

t.test('plain handlers take every method, the routes of go-restful GET alone', async (t) => {
  const server = await startServer(t)
  for (const method of ['SEARCH', 'PURGE', 'LOCK', 'TRACE']) {
    const ask = (path: string) => call(server, { method, path })
    for (const path of ['/apis', '/healthz', '/readyz/ping', '/openapi/v3', '/metrics'])
      t.equal((await ask(path)).status, 200, `${method} ${path}`)
    for (const path of ['/api', '/api/v1', '/apis/apps/v1', '/version', '/openid/v1/jwks'])
      t.match(await ask(path), { status: 405, body: { reason: 'MethodNotAllowed' } }, path)
    t.match(await ask('/nope'), { status: 404, text: '404 page not found\n' }, method)
  }
  const headers = { authorization: `Bearer ${server.adminToken}` }
  const request = https.get(server.url, { path: '*', ca: server.caPem, agent: false, headers })
  const [response] = (await once(request, 'response')) as [IncomingMessage]
  t.equal(response.statusCode, 404, 'what is asked of the server as a whole')
  response.resume()
  const as = { 'impersonate-user': 'nobody' }
  const { body } = await call(server, { method: 'SEARCH', path: '/metrics', headers: as })
  t.match(body.message, 'cannot search path "/metrics"')
})

t.test('annotations that were fields once are read as such', async (t) => {
  const template = {
    metadata: { labels: { a: 'b' } },
    spec: { containers: [{ name: 'c', image: 'i' }] },
  }
  const spec = { selector: { matchLabels: { a: 'b' } }, template }
  const rollback = 'deprecated.deployment.rollback.to'
  const create = (resource: string, key: string, value: string) =>
    post(`/apis/apps/v1/namespaces/default/${resource}`, {
      metadata: { generateName: 'a', annotations: { [key]: value } },
      spec,
    })
  t.equal(
    (await create('deployments', rollback, 'x')).body.message,
    `Deployment in version "v1" cannot be handled as a Deployment: failed to parse annotation[${rollback}]=x as int64: strconv.ParseInt: parsing "x": invalid syntax`,
  )
  t.match(
    (await create('deployments', rollback, '9223372036854775808')).body.message,
    'parsing "9223372036854775808": value out of range',
  )
  t.strictSame((await create('deployments', rollback, '+07')).body.metadata.annotations, {
    [rollback]: '7',
  })
  t.equal((await create('deployments', rollback, '')).body.metadata.annotations, undefined)
  t.match(
    (await create('daemonsets', 'deprecated.daemonset.template.generation', 'x')).body.message,
    'DaemonSet in version "v1" cannot be handled as a DaemonSet: strconv.ParseInt: parsing "x": invalid syntax',
  )
})

t.test('the metadata of a TokenRequest has its order', async (t) => {
  await post(`${inDefault}/serviceaccounts`, { metadata: { name: 'ordered' } })
  const { body } = await post(`${inDefault}/serviceaccounts/ordered/token`, {})
  t.strictSame(Object.keys(body.metadata).slice(0, 4), [
    ...['name', 'namespace', 'uid', 'creationTimestamp'],
  ])
})

t.test('a TokenRequest is shown by its metadata alone to who asks for that', async (t) => {
  const path = `${inDefault}/serviceaccounts/asked/token`
  await post(`${inDefault}/serviceaccounts`, { metadata: { name: 'asked' } })
  const ask = (accept: string) =>
    call(server, { method: 'POST', path, body: { spec: {} }, headers: { accept } })
  const { body } = await ask(partial)
  t.match(body, { kind: 'PartialObjectMetadata', metadata: { name: 'asked' } })
  t.strictSame(Object.keys(body), ['kind', 'apiVersion', 'metadata'])
  const list = await ask('application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io')
  t.equal(list.status, 406)
  t.match(
    list.body.message,
    /the requested object is not a list \(\*authentication.TokenRequest\)$/,
  )
})

t.test('extra fields of a user come in the order of their keys, which Go unescapes', async (t) => {
  const extraOf = async (headers: Readonly<Record<string, string>>) => {
    const path = '/apis/authentication.k8s.io/v1/selfsubjectreviews'
    const asked = { method: 'POST', path, headers: { 'impersonate-user': 'u', ...headers } }
    const { body } = await call(server, { ...asked, body: {} })
    return JSON.stringify(body.status.userInfo.extra)
  }
  t.equal(
    await extraOf({ 'impersonate-extra-b': '1', 'impersonate-extra-a': '2' }),
    '{"a":["2"],"b":["1"]}',
  )
  t.equal(await extraOf({ 'impersonate-extra-a%2Fb%ff': '1' }), '{"a/b\ufffd":["1"]}')
  t.equal(await extraOf({ 'impersonate-extra-a%2Fb%f': '1' }), '{"a%2fb%f":["1"]}')
})

t.test(
  "the document of the API services' own group is read, that of others answers any method",
  async (t) => {
    for (const method of ['POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']) {
      const statusOf = async (group: string) =>
        (await call(server, { method, path: `/apis/${group}` })).status
      t.equal(await statusOf('apiregistration.k8s.io'), 405, method)
      t.equal(await statusOf('apiextensions.k8s.io'), 200, method)
    }
  },
)

t.test('a name may be as long as the header that it comes in', async (t) => {
  for (const length of [1025, 100_000]) {
    const name = 'a'.repeat(length)
    const { status, body } = await get(`${inDefault}/configmaps/${name}`)
    t.equal(status, 404)
    t.equal(body.message, `configmaps "${name}" not found`)
    t.equal((await call(server, { path: `/api/v1/nodes/${name}`, token: 'none' })).status, 401)
  }
  t.equal((await get('/version')).status, 200)
})

const things = '/apis/odd.example.com/v1'
const defineThings = async () => {
  const body = definitionOf({
    group: 'odd.example.com',
    scope: 'Namespaced',
    names: { plural: 'things', kind: 'Thing' },
    versions: [
      versionOf(
        'v1',
        { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
        { subresources: { status: {} } },
      ),
    ],
  })
  await post('/apis/apiextensions.k8s.io/v1/customresourcedefinitions', body)
  await isServed(server, `${things}/things`)
}

t.test('an empty segment for the namespace lists all, and deletes nothing', async (t) => {
  await post(`${inDefault}/configmaps`, { metadata: { name: 'kept' } })
  const everywhere = '/api/v1/namespaces//configmaps'
  t.ok((await get(everywhere)).body.items.length > 0)
  const { body } = await call(server, { method: 'DELETE', path: everywhere })
  t.match(body, { code: 400, message: 'Namespace parameter required.' })
  t.equal((await get(`${inDefault}/configmaps/kept`)).status, 200)
  const none = '/api/v1/namespaces//podtemplates'
  t.equal((await call(server, { method: 'DELETE', path: none })).status, 200)
  await defineThings()
  t.equal((await get(`${things}/namespaces//things`)).status, 200)
  for (const path of [`${things}/namespaces//things/x`, `${things}/namespaces/default//things`])
    t.equal((await get(path)).text, '404 page not found\n')
})

/** A URL would lose its dots. */
const callAsWritten = async (method: string, path: string, body = '') => {
  const { hostname: host, port } = new URL(server.url)
  const headers = {
    authorization: `Bearer ${server.adminToken}`,
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(body),
  }
  const request = https.request({ host, port, path, method, ca: server.caPem, headers })
  request.end(body)
  const [response] = (await once(request, 'response')) as [IncomingMessage]
  return json(response) as Promise<{ message: string; code: number }>
}

t.test('a namespace that is no name of a file is no part of a key', async (t) => {
  const namespaces = [
    ['..', '%2e%2e'],
    ['..', '..'],
    ['.', '.'],
  ] as const
  for (const [namespace, segment] of namespaces) {
    const path = `/api/v1/namespaces/${segment}/configmaps`
    const invalid = (key: string) => ({ code: 500, message: `invalid key: "/configmaps/${key}"` })
    for (const method of ['GET', 'DELETE']) {
      t.match(await callAsWritten(method, path), invalid(namespace), method)
      t.match(await callAsWritten(method, `${path}/x`), invalid(`${namespace}/x`), method)
    }
    t.match(await callAsWritten('POST', path, '{"metadata":{"name":"x"}}'), {
      code: 500,
      message: `Internal error occurred: invalid resource name "${namespace}": [may not be '${namespace}']`,
    })
  }
})

t.test('a NUL ends a selector of labels, or the word before it', async (t) => {
  const path = `${inDefault}/configmaps`
  await post(path, { metadata: { name: 'labelled', labels: { a: 'b' } } })
  const namesOf = async (selector: string) =>
    (await get(`${path}?labelSelector=${selector}`)).body.items.map(
      ({ metadata }: { metadata: { name: string } }) => metadata.name,
    )
  t.same(await namesOf('a%3Db%00,c'), [])
  for (const selector of ['a%3Db%00,a', 'a%3Db%00%00,c', 'a%3Db%20%00,c'])
    t.same(await namesOf(selector), ['labelled'], selector)
  t.ok((await namesOf('%00')).length > 1)
})

t.test('custom resources are watched below /watch/ by any method', async (t) => {
  await defineThings()
  const query = '?timeoutSeconds=1'
  for (const method of ['POST', 'DELETE', 'PUT', 'PATCH'])
    for (const path of [
      'things',
      'things/x',
      'namespaces/default/things',
      'namespaces/default/things/x',
    ])
      t.equal((await call(server, { method, path: `${things}/watch/${path}${query}` })).status, 200)
  const path = `/api/v1/watch/namespaces/default/configmaps${query}`
  t.equal((await call(server, { method: 'DELETE', path })).status, 405)
  const other = `${things}/watch/namespaces/default/things/x/other`
  t.match((await get(other)).body, { message: 'things.odd.example.com "x" not found', code: 404 })
})

t.test('custom resources know the former verb proxy, and do not support it', async (t) => {
  await defineThings()
  for (const path of ['things', 'things/x', 'things/x/y'])
    t.match((await get(`${things}/proxy/namespaces/default/${path}`)).body, {
      code: 405,
      message: 'proxy is not supported on resources of kind "things.odd.example.com"',
    })
  for (const path of ['things', 'things/x', 'none/x'])
    t.equal((await get(`${things}/proxy/${path}`)).text, '404 page not found\n')
})

t.test('a patch may not make the apiVersion of a custom resource null', async (t) => {
  await defineThings()
  const path = `${things}/namespaces/default/things`
  await post(path, { apiVersion: 'odd.example.com/v1', kind: 'Thing', metadata: { name: 'x' } })
  for (const subresource of ['', '/status']) {
    const { body } = await call(server, {
      method: 'PATCH',
      path: `${path}/x${subresource}`,
      body: [{ op: 'add', path: '/apiVersion', value: null }],
      headers: { 'content-type': 'application/json-patch+json' },
    })
    t.match(body, { code: 422, reason: 'Invalid', details: { causes: [{ field: 'patch' }] } })
    t.match(
      body.message,
      /: \.apiVersion accessor error: <nil> is of the type <nil>, expected string$/,
    )
  }
})

t.test('options are no object of any kind, in all versions', async (t) => {
  const path = `${inDefault}/pods/x/eviction`
  for (const apiVersion of ['v1', 'apps/v1', 'policy/v1']) {
    const { body } = await post(path, { apiVersion, kind: 'DeleteOptions' })
    t.equal(
      body.message,
      'DeleteOptions in version "v1" cannot be handled as a Eviction: converting (v1.DeleteOptions) to (policy.Eviction): unknown conversion',
    )
  }
  const unread = { apiVersion: 'v1', kind: 'DeleteOptions', gracePeriodSeconds: '5' }
  t.match((await post(path, unread)).body.message, /json: cannot unmarshal string into Go struct/)
  const { body } = await post(path, { apiVersion: 'meta.k8s.io/v1', kind: 'DeleteOptions' })
  t.match(body.message, /no kind "DeleteOptions" is registered for version "meta.k8s.io\/v1"/)
})

t.test('the name of an IPAddress is not made of random characters', async (t) => {
  const path = '/apis/networking.k8s.io/v1/ipaddresses?dryRun=All'
  const spec = { parentRef: { resource: 'services', name: 'x' } }
  const { body } = await post(path, { metadata: { generateName: '10.250.1.' }, spec })
  t.equal(body.details.name, '10.250.1.')
  const whole = await post(path, { metadata: { generateName: '10.250.1.7' }, spec })
  t.equal(whole.body.metadata.name, '10.250.1.7')
})

t.test('a version that cannot be shown is quoted as by Go', async (t) => {
  const { message } = (await post(`${inDefault}/configmaps`, { apiVersion: '\0', kind: 'A' })).body
  t.match(message, 'A in version "\\x00" cannot be handled as a ConfigMap')
})

t.test(
  'a body beside the wish for another protocol is read, and the wish is not heard',
  { skip: !('shouldUpgradeCallback' in createServer()) && 'this Node ends HTTP before the body' },
  async (t) => {
    const answer = await call(server, {
      method: 'POST',
      path: `${inDefault}/configmaps`,
      body: { metadata: { name: 'upgraded' } },
      headers: { connection: 'Upgrade, HTTP2-Settings', upgrade: 'h2c' },
    })
    t.match([answer.status, answer.body], [201, { metadata: { name: 'upgraded' } }])
  },
)
