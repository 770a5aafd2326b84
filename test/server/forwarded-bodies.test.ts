/** Bodies that go on to an aggregated API, a Pod or a node. */
import { once } from 'node:events'
import http, { type IncomingMessage } from 'node:http'
import http2 from 'node:http2'
import https from 'node:https'
import t, { type Test } from 'tap'
import type { Server } from '#src/index.js'
import { listen } from '../listen.js'
import { otherAddress, sendJson, startAggregatedApi } from './aggregated-api.js'
import { answerThat, call, startServer } from './start-server.js'

const address = otherAddress()
const options = { skip: address === undefined && 'this machine has loopback addresses only' }
const core = '/api/v1/namespaces/default'
const version = '/apis/sink.example.com/v1'

const bytesOf = async (request: IncomingMessage): Promise<string> => {
  let text = ''
  for await (const chunk of request) text += chunk
  return text
}

interface Told {
  readonly method: string | undefined
  readonly url: string | undefined
  readonly user: string | string[] | undefined
  readonly body: string
}

/** A server with an API behind it that notes what it is asked; it refuses /early before it has read the body, and breaks /cut off. */
const startBehind = async (t: Test) => {
  const told: Told[] = []
  const server = await startServer(t)
  const api = await startAggregatedApi(t, 'sink.default.svc', async (request, response) => {
    const { method, url, headers } = request
    if (url === version)
      return sendJson(response, { kind: 'APIResourceList', groupVersion: 'sink.example.com/v1' })
    if (url === '/apis' || url?.startsWith('/openapi')) return sendJson(response, {}, 404)
    if (url?.endsWith('/early')) return sendJson(response, {}, 403)
    if (url?.endsWith('/cut')) return request.once('data', () => request.socket.destroy())
    told.push({ method, url, user: headers['x-remote-user'], body: await bytesOf(request) })
    return sendJson(response, {})
  })
  const write = async (path: string, body: object): Promise<void> => {
    t.equal((await call(server, { method: 'POST', path, body })).status, 201, path)
  }
  const name = 'sink'
  const ports = [{ port: api.port }]
  await write(`${core}/services`, { metadata: { name }, spec: { ports: [{ port: 443 }] } })
  await write('/apis/discovery.k8s.io/v1/namespaces/default/endpointslices', {
    metadata: { name, labels: { 'kubernetes.io/service-name': name } },
    addressType: 'IPv4',
    endpoints: [{ addresses: [address] }],
    ports,
  })
  const services = '/apis/apiregistration.k8s.io/v1/apiservices'
  await write(services, {
    metadata: { name: 'v1.sink.example.com' },
    spec: {
      group: 'sink.example.com',
      version: 'v1',
      groupPriorityMinimum: 1,
      versionPriority: 1,
      service: { name, namespace: 'default' },
      caBundle: Buffer.from(api.caPem).toString('base64'),
    },
  })
  const path = `${services}/v1.sink.example.com`
  await answerThat(server, { path }, 'is available', ({ body }) =>
    body.status?.conditions?.some(({ status }: { status: string }) => status === 'True'),
  )
  return { server, api, told }
}

const hidden = [
  `POST ${version}/hidden HTTP/1.1`,
  'Host: sink.default.svc',
  'X-Remote-User: somebody-else',
  'Content-Length: 0',
  '\r\n',
].join('\r\n')

const sendInPieces = async ({ url, adminToken, caPem }: Server, method: string): Promise<void> => {
  const headers = { authorization: `Bearer ${adminToken}`, 'transfer-encoding': 'chunked' }
  const request = https.request(`${url}${version}/${method}`, {
    ...{ method, headers, ca: caPem, agent: false },
  })
  request.end(hidden)
  const [answer] = (await once(request, 'response')) as [IncomingMessage]
  await bytesOf(answer)
}

const deleteOverHttp2 = async ({ url, adminToken, caPem }: Server): Promise<void> => {
  const session = http2.connect(url, { ca: caPem })
  const headers = { ':method': 'DELETE', ':path': `${version}/HTTP2` }
  const stream = session.request(
    { ...headers, authorization: `Bearer ${adminToken}` },
    { endStream: false },
  )
  stream.end(hidden)
  stream.resume()
  await once(stream, 'close')
  session.close()
}

t.test('a body without a length is never taken for the next request', options, async (t) => {
  const { server, told } = await startBehind(t)
  for (const method of ['GET', 'DELETE', 'OPTIONS', 'POST']) await sendInPieces(server, method)
  await deleteOverHttp2(server)
  // On the same kept connection, so that what came before it would be seen before it.
  await call(server, { path: `${version}/last` })
  t.strictSame(
    told.map(({ url, user, body }) => [url, user, body]),
    [
      ...['GET', 'DELETE', 'OPTIONS', 'POST', 'HTTP2'].map((name) => [
        `${version}/${name}`,
        'admin',
        hidden,
      ]),
      [`${version}/last`, 'admin', ''],
    ],
  )
})

t.test(
  'a body whose request is answered before it was sent is read to its end',
  options,
  async (t) => {
    const { server, api } = await startBehind(t)
    // A connection whose client asks for its end is closed with the answer.
    const agent = new https.Agent({ keepAlive: true })
    t.teardown(() => agent.destroy())
    const upload = async (name: string): Promise<number | undefined> => {
      const length = 8_000_000
      const request = https.request(`${server.url}${version}/${name}`, {
        method: 'POST',
        ca: server.caPem,
        agent,
        headers: { authorization: `Bearer ${server.adminToken}`, 'content-length': length },
      })
      request.end(Buffer.alloc(length))
      const sent = once(request, 'finish')
      const [answer] = (await once(request, 'response')) as [IncomingMessage]
      answer.resume()
      await sent
      return answer.statusCode
    }
    t.equal(await upload('early'), 403)
    t.equal(await upload('cut'), 503)
    await api.stop()
    t.equal(await upload('refused'), 503)
  },
)

t.test('Pods and ports of nodes are sent bodies of any size', options, async (t) => {
  const server = await startServer(t, { disableAdmissionPlugins: ['ServiceAccount'] })
  const behind = http.createServer(async (request, response) => {
    const { length } = await bytesOf(request)
    response.end(`${request.method} ${length} ${request.headers['content-type']}`)
  })
  const port = await listen(t, behind, address)
  const write = (method: string, path: string, body: object, type = 'application/json') =>
    call(server, { method, path, body, headers: { 'content-type': type } })
  const spec = { containers: [{ name: 'c', image: 'i' }] }
  await write('POST', `${core}/pods`, { metadata: { name: 'p' }, spec })
  const status = { podIP: address, podIPs: [{ ip: address }] }
  await write('PATCH', `${core}/pods/p/status`, { status }, 'application/merge-patch+json')
  await write('POST', '/api/v1/nodes', {
    metadata: { name: 'n' },
    status: { addresses: [{ type: 'InternalIP', address }] },
  })
  const large = { a: 'a'.repeat(4_000_000) }
  for (const target of [`${core}/pods/p:${port}`, `/api/v1/nodes/n:${port}`])
    for (const method of ['POST', 'PUT', 'PATCH', 'DELETE'])
      t.equal(
        (await write(method, `${target}/proxy/x`, large, 'text/a')).text,
        `${method} 4000008 text/a`,
        target,
      )
  t.equal((await call(server, { path: `${core}/pods/p:${port}/proxy/x` })).text, 'GET 0 undefined')
  for (const wrong of ['p:65536', 'p:x'])
    t.match((await call(server, { path: `${core}/pods/${wrong}/proxy/x` })).body, {
      code: 503,
      message: `error trying to reach service: dial tcp: address ${wrong.slice(2)}: invalid port`,
    })
})
