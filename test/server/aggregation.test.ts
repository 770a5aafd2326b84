import net from 'node:net'
import tls from 'node:tls'
import t, { type Test } from 'tap'
import type { KubeObject } from '#api/object.js'
import { issueCertificate } from '#net/x509.js'
import type { Server } from '#src/index.js'
import { eventually } from '../eventually.js'
import { type AggregatedApi, otherAddress, sendJson, startAggregatedApi } from './aggregated-api.js'
import { type Answer, answerThat, call, startServer } from './start-server.js'

const group = 'echo.example.com'
const version = `/apis/${group}/v1`
const apiServices = '/apis/apiregistration.k8s.io/v1/apiservices'
const own = `${apiServices}/v1.${group}`
const slices = '/apis/discovery.k8s.io/v1/namespaces/default/endpointslices'
const aggregated = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList'

const address = otherAddress()
const options = { skip: address === undefined && 'this machine has loopback addresses only' }

const echoes = {
  kind: 'APIResourceList',
  apiVersion: 'v1',
  groupVersion: `${group}/v1`,
  resources: [
    {
      name: 'echoes',
      singularName: 'echo',
      namespaced: true,
      kind: 'Echo',
      verbs: ['get', 'list'],
    },
    { name: 'echoes/status', singularName: '', namespaced: true, kind: 'Echo', verbs: ['get'] },
  ],
}

const meta = 'io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta'
const openApiV2 = {
  swagger: '2.0',
  paths: {
    [`${version}/echoes`]: {
      get: {
        responses: { 200: { description: 'OK', schema: { $ref: '#/definitions/echo.Echo' } } },
      },
    },
    '/apis/elsewhere/v1/': {
      get: {
        responses: { 200: { description: 'OK', schema: { $ref: '#/definitions/echo.Elsewhere' } } },
      },
    },
  },
  definitions: {
    'echo.Echo': { type: 'object', properties: { metadata: { $ref: `#/definitions/${meta}` } } },
    'echo.Elsewhere': { type: 'object' },
    // What this server knows by the same name is something else.
    [meta]: { type: 'string' },
  },
}

const answered = new WeakSet<object>()

/** Tells what it was asked, and serves what an aggregated API must. */
const startEcho = (t: Test, isBroken = () => false): Promise<AggregatedApi> =>
  startAggregatedApi(
    t,
    'echo.default.svc',
    (request, response) => {
      const { url = '', method, headers } = request
      if (url === version) return sendJson(response, echoes, isBroken() ? 500 : 200)
      if (url === '/apis') return sendJson(response, {}, 404)
      if (url === '/openapi/v2') return sendJson(response, openApiV2)
      if (url.startsWith('/openapi/v3'))
        return sendJson(response, {
          paths: {
            [version.slice(1)]: { serverRelativeURL: `/openapi/v3${version}?hash=1` },
            version: { serverRelativeURL: '/openapi/v3/version?hash=1' },
          },
        })
      if (url.endsWith('/moved')) {
        response.writeHead(302, { location: 'https://elsewhere.example.com/' })
        return response.end()
      }
      if (url.endsWith('/gone')) return request.socket.destroy()
      if (url.endsWith('/once') && answered.has(request.socket)) return request.socket.destroy()
      answered.add(request.socket)
      if (url.endsWith('watch=1')) {
        response.writeHead(200, { 'content-type': 'application/json' })
        response.write('{"type":"ADDED"}\n')
        request.socket.once('close', () => response.destroy())
        return undefined
      }
      let body = ''
      request.on('data', (chunk) => {
        body += chunk
      })
      return request.on('end', () => sendJson(response, { url, method, headers, body }, 201))
    },
    (request, socket) => {
      socket.write(
        'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n',
      )
      socket.write(`hello ${request.headers['x-remote-user']}\n`)
      socket.on('data', (chunk) => socket.write(chunk))
      socket.on('error', () => {})
    },
  )

const json = (method: string, path: string, body: unknown): Parameters<typeof call>[1] => ({
  method,
  path,
  body,
  headers: method === 'PATCH' ? { 'content-type': 'application/merge-patch+json' } : {},
})

const until = async (server: Server, reason: string, message = /^/): Promise<KubeObject> => {
  const isTold = ({ body }: Answer) => {
    const [condition] = body.status?.conditions ?? []
    return condition?.reason === reason && message.test(condition.message)
  }
  return (await answerThat(server, { path: own }, `is ${reason}: ${message}`, isTold)).body
}

const register = async (server: Server, caPem: string): Promise<void> => {
  const caBundle = Buffer.from(caPem).toString('base64')
  const spec = { group, version: 'v1', groupPriorityMinimum: 17_790, versionPriority: 5 }
  const service = { namespace: 'default', name: 'echo' }
  const body = { metadata: { name: `v1.${group}` }, spec: { ...spec, caBundle, service } }
  const { status } = await call(server, json('POST', apiServices, body))
  t.equal(status, 201)
}

const slice = (port: number, name = 'https') => ({
  metadata: { name: 'echo', labels: { 'kubernetes.io/service-name': 'echo' } },
  addressType: 'IPv4',
  ports: [{ name, port }],
  endpoints: [{ addresses: [address] }],
})

const serviceWith = (port: number) => ({
  metadata: { name: 'echo' },
  spec: { ports: [{ name: 'https', port }] },
})

/** What discovery tells of the group, once it is that fresh. */
const entry = (server: Server, freshness: string): Promise<Record<string, unknown>> =>
  eventually(`the group to be ${freshness}`, async () => {
    const { body } = await call(server, { path: '/apis', headers: { accept: aggregated } })
    const found = body.items.find((g: KubeObject) => g.metadata.name === group)
    return found?.versions[0].freshness === freshness && found.versions[0]
  })

/** Registered, found to be there, and asked what it serves: for a while the server itself asks it nothing more. */
const startAggregated = async (t: Test): Promise<{ server: Server; api: AggregatedApi }> => {
  const server = await startServer(t)
  const api = await startEcho(t)
  await call(server, json('POST', '/api/v1/namespaces/default/services', serviceWith(443)))
  await call(server, json('POST', slices, slice(api.port)))
  await register(server, api.caPem)
  await until(server, 'Passed')
  await entry(server, 'Current')
  return { server, api }
}

t.test(
  'an APIService tells why the server behind it cannot be used, until it can',
  options,
  async (t) => {
    const server = await startServer(t)
    let isBroken = false
    let failures = 0
    const api = await startEcho(t, () => isBroken && ++failures > 0)
    const messageAt = async (reason: string, like?: RegExp): Promise<unknown> => {
      const { status } = await until(server, reason, like)
      t.equal(status.conditions[0].status, 'False')
      return status.conditions[0].message
    }
    await register(server, api.caPem)
    t.equal(await messageAt('ServiceNotFound'), 'service/echo in "default" is not present')
    const refused = await call(server, { path: `${version}/namespaces/default/echoes` })
    t.equal(refused.status, 503)
    t.equal(refused.text, 'service unavailable\n')
    t.match(refused.headers['content-type'], 'text/plain')

    const services = '/api/v1/namespaces/default/services'
    await call(server, json('POST', services, serviceWith(444)))
    t.equal(
      await messageAt('ServicePortError'),
      'service/echo in "default" is not listening on port 443',
    )
    const { spec } = serviceWith(443)
    await call(server, json('PATCH', `${services}/echo`, { spec }))
    t.equal(
      await messageAt('EndpointsNotFound'),
      'cannot find endpointslices for service/echo in "default"',
    )
    await call(server, json('POST', slices, slice(api.port, 'other')))
    t.equal(
      await messageAt('MissingEndpoints'),
      'endpointslices for service/echo in "default" have no addresses with port name "https"',
    )
    await call(server, json('PUT', `${slices}/echo`, slice(1)))
    const at = `https://${address}:1${version}`
    t.equal(
      // Not of one that came too late, as on a machine that stood still.
      await messageAt('FailedDiscoveryCheck', /refused/),
      `failing or missing response from ${at}: Get "${at}": dial tcp ${address}:1: connect: connection refused`,
    )
    const metrics = await call(server, { path: '/metrics' })
    t.match(metrics.text, `aggregator_unavailable_apiservice{name="v1.${group}"} 1`)

    await call(server, json('PUT', `${slices}/echo`, slice(api.port)))
    const { status } = await until(server, 'Passed')
    t.match(status.conditions[0], { status: 'True', message: 'all checks passed' })
    t.equal((await call(server, { path: version })).body.kind, 'APIResourceList')

    await call(server, json('PATCH', own, { spec: { caBundle: null } }))
    t.match(
      await messageAt('FailedDiscoveryCheck', / tls: /),
      /: tls: failed to verify certificate: x509: certificate signed by unknown authority$/,
    )
    await call(server, json('PATCH', own, { spec: { insecureSkipTLSVerify: true } }))
    await until(server, 'Passed')

    isBroken = true
    await call(server, json('PATCH', own, { spec: { versionPriority: 6 } }))
    t.match(await messageAt('FailedDiscoveryCheck', /status/), /: bad status from https:.*: 500$/)
    // No event tells when that is over.
    await eventually('it to be tried again and again', () => failures > 30)
    isBroken = false
    await until(server, 'Passed')
  },
)

t.test('a request goes on as its user, vouched for by the front proxy', options, async (t) => {
  const { server, api } = await startAggregated(t)
  const answer = await call(server, {
    method: 'POST',
    path: `${version}/namespaces/x/echoes?b=2&a=1%202`,
    body: { hello: 1 },
    headers: {
      'impersonate-user': 'bob',
      'impersonate-group': 'system:masters',
      'impersonate-extra-team%2fname': 'a',
      'x-remote-user': 'eve',
      'x-thing': 'kept',
    },
  })
  t.equal(answer.status, 201)
  const { url, method, headers, body } = answer.body
  t.equal(method, 'POST')
  t.equal(url, `${version}/namespaces/x/echoes?a=1+2&b=2`)
  t.equal(body, '{"hello":1}')
  t.equal(headers['x-remote-user'], 'bob')
  t.equal(headers['x-remote-group'], 'system:masters, system:authenticated')
  t.equal(headers['x-remote-extra-team%2fname'], 'a')
  t.equal(headers['x-thing'], 'kept')
  t.equal(headers['content-type'], 'application/json')
  t.notOk(headers.authorization)
  t.notOk(Object.keys(headers).some((name) => name.startsWith('impersonate')))
  t.strictSame([...new Set(api.callers)], ['front-proxy-client'])

  // Node takes a character of a header for a byte.
  const impersonated = Buffer.from('jürgen').toString('latin1')
  const abroad = await call(server, {
    path: `${version}/namespaces/x/echoes`,
    headers: { 'impersonate-user': impersonated, 'impersonate-group': 'system:masters' },
  })
  t.equal(abroad.body.headers['x-remote-user'], impersonated)

  const forbidden = await call(server, { path: `${version}/namespaces/x/echoes`, token: '' })
  t.equal(forbidden.status, 403)
  const unknown = await call(server, { path: `${version}/unknown`, token: 'wrong' })
  t.equal(unknown.status, 401)
  t.notOk(api.asked.includes(`${version}/unknown`), 'who may not does not come through')

  const moved = await call(server, { path: `${version}/moved` })
  t.equal(moved.status, 502)
  t.notOk(moved.headers.location)
  const gone = await call(server, { path: `${version}/gone` })
  t.equal(gone.status, 503)
  t.equal(gone.text, 'error trying to reach service: EOF\n')

  // A connection that is kept may have ended when it is needed.
  const once = { path: `${version}/once` }
  t.equal((await call(server, once)).status, 201)
  t.equal((await call(server, { ...once, method: 'POST' })).status, 503, 'it may have happened')
  t.equal((await call(server, once)).status, 201)
  t.equal((await call(server, once)).status, 201, 'reading is tried again on a new one')
})

/** The first bytes that a TLS connection yields after `text` was sent. */
const talk = async (
  t: Test,
  server: Server,
  lines: readonly string[],
): Promise<{ socket: tls.TLSSocket; until: (pattern: RegExp) => Promise<string> }> => {
  const { hostname, port } = new URL(server.url)
  const socket = tls.connect({ host: hostname, port: Number(port), ca: server.caPem })
  t.teardown(() => socket.destroy())
  let seen = ''
  socket.on('data', (chunk) => {
    seen += chunk
  })
  socket.write(`${lines.join('\r\n')}\r\n\r\n`)
  const until = (pattern: RegExp): Promise<string> =>
    eventually(`${pattern} is said`, () => {
      if (pattern.test(seen)) return seen
      if (socket.destroyed) throw new Error(`it said ${seen}`)
      return undefined
    })
  return { socket, until }
}

t.test('watches stream and upgrades go both ways', options, async (t) => {
  const { server } = await startAggregated(t)
  const head = ['Host: h', `Authorization: Bearer ${server.adminToken}`]
  const watch = await talk(t, server, [`GET ${version}/echoes?watch=1 HTTP/1.1`, ...head])
  t.match(await watch.until(/ADDED/), /^HTTP\/1.1 200 /)
  watch.socket.destroy()

  const upgrade = ['Connection: Upgrade', 'Upgrade: echo']
  const both = await talk(t, server, [`GET ${version}/e/talk HTTP/1.1`, ...head, ...upgrade])
  t.match(await both.until(/hello admin/), /^HTTP\/1.1 101 /)
  both.socket.write('ping')
  t.match(await both.until(/ping/), 'ping')
  t.ok(net.isIP(both.socket.remoteAddress ?? ''))
})

t.test(
  'discovery shows what others serve, and that it is stale when they are away',
  options,
  async (t) => {
    const { server, api } = await startAggregated(t)
    const kind = { group: '', version: '', kind: 'Echo' }
    const resources = [
      {
        resource: 'echoes',
        responseKind: kind,
        scope: 'Namespaced',
        singularResource: 'echo',
        verbs: ['get', 'list'],
        subresources: [{ subresource: 'status', responseKind: kind, verbs: ['get'] }],
      },
    ]
    t.strictSame((await entry(server, 'Current')).resources, resources)
    const { body: groups } = await call(server, { path: '/apis' })
    const names = groups.groups.map(({ name }: { name: string }) => name)
    t.strictSame(names.slice(0, 4), ['apiregistration.k8s.io', 'apps', group, 'events.k8s.io'])
    const { body: alone } = await call(server, { path: `/apis/${group}` })
    t.equal(alone.preferredVersion.groupVersion, `${group}/v1`)

    const document = version.slice(1)
    const index = await answerThat(
      server,
      { path: '/openapi/v3' },
      'names the group',
      ({ body }) => body.paths[document] !== undefined,
    )
    t.equal(index.body.paths[document].serverRelativeURL, `/openapi/v3${version}?hash=1`)
    t.equal((await call(server, { path: `/openapi/v3${version}` })).status, 200)
    const { body: ofVersion } = await call(server, { path: '/openapi/v3/version' })
    t.ok(ofVersion.paths['/version/'], 'what it says of a document of this server is not asked for')

    const { paths, definitions } = (
      await answerThat(
        server,
        { path: '/openapi/v2' },
        'has its paths',
        ({ body }) => body.paths[`${version}/echoes`] !== undefined,
      )
    ).body
    const returned = { $ref: '#/definitions/echo.Echo' }
    t.strictSame(paths[`${version}/echoes`].get.responses[200].schema, returned)
    t.notOk(paths['/apis/elsewhere/v1/'], 'another group is not its own')
    t.notOk(definitions['echo.Elsewhere'])
    t.ok(definitions[meta].properties.name, 'a definition of this server stays')
    t.strictSame(definitions['echo.Echo'].properties.metadata, { $ref: `#/definitions/${meta}_v2` })
    t.strictSame(definitions[`${meta}_v2`], { type: 'string' })
    const accept = 'application/com.github.proto-openapi.spec.v2.v1.0+protobuf'
    const packed = await call(server, { path: '/openapi/v2', headers: { accept } })
    t.ok(packed.bytes.includes(`${meta}_v2`))

    await api.stop()
    await call(server, json('PATCH', own, { metadata: { labels: { look: 'again' } } }))
    await call(server, json('PUT', `${slices}/echo`, slice(1)))
    t.strictSame(await entry(server, 'Stale'), { version: 'v1', freshness: 'Stale' })

    t.equal((await call(server, { method: 'DELETE', path: own })).status, 200)
    const gone = await answerThat(server, { path: version }, 'is gone', (a) => a.status === 404)
    t.equal(gone.text, '404 page not found\n')
    t.equal((await call(server, { path: `/apis/${group}` })).status, 404)
    t.notOk((await call(server, { path: '/openapi/v2' })).body.paths[`${version}/echoes`])
  },
)

t.test('requests of a front proxy are whose their headers say', async (t) => {
  const life = { notBeforeMs: Date.UTC(2020, 0), notAfterMs: Date.UTC(2100, 0) }
  const server = await startServer(t)
  const reviews = '/apis/authentication.k8s.io/v1/selfsubjectreviews'
  const { body: map } = await call(server, {
    path: '/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication',
  })
  t.match(map.data, {
    'requestheader-allowed-names': '["front-proxy-client"]',
    'requestheader-username-headers': '["X-Remote-User"]',
    'requestheader-uid-headers': '["X-Remote-Uid"]',
    'requestheader-group-headers': '["X-Remote-Group"]',
    'requestheader-extra-headers-prefix': '["X-Remote-Extra-"]',
    'requestheader-client-ca-file': /^-----BEGIN CERTIFICATE-----/,
  })
  // Nobody else can make certificates of that authority: a server with one of the test's own is asked.
  const ca = issueCertificate({ ...life, use: 'authority', subject: { commonName: 'proxies' } })
  const file = `${t.testdir({ 'ca.crt': ca.certPem })}/ca.crt`
  const trusting = await startServer(t, {
    requestheaderClientCaFile: file,
    requestheaderAllowedNames: ['front-proxy-client'],
  })
  const trustingAny = await startServer(t, { requestheaderClientCaFile: file })
  const certificate = (commonName: string) =>
    issueCertificate({ ...life, use: 'client', subject: { commonName }, issuer: ca })
  const proxy = certificate('front-proxy-client')
  const who = async (
    to: Server,
    shown: { certPem: string; keyPem: string },
    headers: Record<string, string>,
  ) => {
    const { certPem: cert, keyPem: key } = shown
    const { status, body } = await call(to, {
      ...json('POST', reviews, {}),
      ...{ token: '', cert, key, headers },
    })
    return status === 201 ? body.status.userInfo : status
  }
  const headers = {
    'x-remote-user': 'alice',
    'x-remote-uid': '7',
    'x-remote-group': 'devs',
    'x-remote-extra-team%2Fname': 'a',
    'x-remote-extra-__proto__': 'b',
  }
  const { extra, ...user } = await who(trusting, proxy, headers)
  t.strictSame(user, {
    username: 'alice',
    uid: '7',
    groups: ['devs', 'system:authenticated'],
  })
  t.strictSame(Object.entries(extra), [
    ['__proto__', ['b']],
    ['team/name', ['a']],
  ])
  t.equal(await who(trusting, proxy, {}), 401, 'its certificate makes nobody of itself')
  t.equal(await who(trusting, certificate('somebody'), headers), 401, 'not a name that is allowed')
  t.match(await who(trustingAny, certificate('somebody'), headers), { username: 'alice' })
  t.equal(await who(server, proxy, headers), 401, 'not an authority that is known')
})
