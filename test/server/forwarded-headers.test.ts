/** What goes on to a node, a Pod or a Service, and comes back, besides the body: as by Go's ReverseProxy. */

import { once } from 'node:events'
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import http2 from 'node:http2'
import https from 'node:https'
import { connect } from 'node:tls'
import t, { type Test } from 'tap'
import type { Server, ServerOptions } from '#src/index.js'
import { startAggregatedApi } from './aggregated-api.js'
import { call, startServer } from './start-server.js'

/** A server behind a node of the cluster. It notes the headers that it is shown. */
const startBehind = async (t: Test, options: ServerOptions = {}) => {
  const told: IncomingHttpHeaders[] = []
  const api = await startAggregatedApi(t, 'n', (request, response) => {
    told.push(request.headers)
    response.setHeader('connection', 'keep-alive, X-Here')
    response.setHeader('x-here', 'for this connection')
    response.setHeader('x-there', 'for everybody')
    response.setHeader('proxy-connection', 'keep-alive')
    if (request.url?.includes('silent')) return response.flushHeaders()
    if (request.url?.includes('bare')) {
      const head = 'HTTP/1.1 304 Not Modified\r\nTransfer-Encoding: chunked\r\nTrailer: X-Sum'
      return request.socket.end(`${head}\r\n\r\n`)
    }
    if (!request.url?.includes('trailers')) return response.end('body')
    response.setHeader('trailer', 'X-Sum')
    response.write('bo')
    response.addTrailers([
      ['X-Sum', 'ab12'],
      ['X-Late', 'unannounced'],
    ])
    return response.end('dy')
  })
  const server = await startServer(t, options)
  const status = {
    addresses: [{ type: 'InternalIP', address: '127.0.0.1' }],
    daemonEndpoints: { kubeletEndpoint: { Port: api.port } },
  }
  const node = { metadata: { name: 'n' }, status }
  t.equal((await call(server, { method: 'POST', path: '/api/v1/nodes', body: node })).status, 201)
  return { server, told, path: '/api/v1/nodes/n/proxy/x' }
}

const ask = (
  { url, adminToken, caPem }: Server,
  path: string,
  headers: Record<string, string> = {},
): Promise<IncomingMessage & { text: string }> =>
  new Promise((resolve, reject) => {
    const options = { ca: caPem, agent: false as const }
    https
      .get(
        `${url}${path}`,
        { ...options, headers: { authorization: `Bearer ${adminToken}`, ...headers } },
        async (answer) => {
          let text = ''
          for await (const chunk of answer) text += chunk
          resolve(Object.assign(answer, { text }))
        },
      )
      .on('error', reject)
  })

t.test('what Connection names is for one connection, whichever way it goes', async (t) => {
  const { server, told, path } = await startBehind(t)
  const answer = await ask(server, path, {
    connection: 'close, X-Mine , ',
    'x-mine': '1',
    'x-theirs': '2',
    'proxy-connection': 'keep-alive',
    te: 'gzip, trailers',
    'x-forwarded-for': '192.0.2.1, 192.0.2.2',
  })
  t.equal(answer.text, 'body')
  const [{ te, ...shown } = {}] = told
  t.equal(te, 'trailers')
  t.equal(shown['x-theirs'], '2')
  t.equal(shown['x-forwarded-for'], '192.0.2.1, 192.0.2.2, 127.0.0.1')
  for (const name of ['x-mine', 'proxy-connection', 'authorization']) t.notOk(shown[name], name)
  t.equal(answer.headers['x-there'], 'for everybody')
  for (const name of ['x-here', 'proxy-connection']) t.notOk(answer.headers[name], name)
  await ask(server, path)
  t.equal(told[1]?.te, undefined)
  t.equal(told[1]?.['x-forwarded-for'], '127.0.0.1')
})

t.test('what follows the body of an answer follows it here, too', async (t) => {
  const { server, path } = await startBehind(t)
  const answer = await ask(server, `${path}/trailers`)
  t.equal(answer.text, 'body')
  t.equal(answer.headers.trailer, 'X-Sum')
  t.same(answer.trailers, { 'x-sum': 'ab12', 'x-late': 'unannounced' })
  const plain = await ask(server, path)
  t.same(plain.trailers, {})
  t.equal((await ask(server, `${path}/bare`)).statusCode, 304)

  const session = http2.connect(server.url, { ca: server.caPem })
  t.teardown(() => session.destroy())
  const stream = session.request({
    ':path': `${path}/trailers`,
    authorization: `Bearer ${server.adminToken}`,
  })
  const trailers = await new Promise<IncomingHttpHeaders>((resolve, reject) => {
    stream.on('trailers', resolve)
    stream.on('error', reject)
    stream.resume()
  })
  t.match(trailers, { 'x-sum': 'ab12', 'x-late': 'unannounced' })
})

t.test('the head of an answer does not wait for its body', async (t) => {
  const { server, path } = await startBehind(t)
  const { url, caPem: ca, adminToken } = server
  const headers = { authorization: `Bearer ${adminToken}` }
  const request = https.get(`${url}${path}/silent`, { ca, headers, agent: false })
  const [answer] = (await once(request, 'response')) as [IncomingMessage]
  t.equal(answer.statusCode, 200)
  request.destroy()
})

t.test('a client that knows no chunks gets the answer without what follows it', async (t) => {
  const { server, path } = await startBehind(t)
  const { hostname, port } = new URL(server.url)
  const socket = connect({ host: hostname, port: Number(port), ca: server.caPem })
  socket.write(
    `GET ${path}/trailers HTTP/1.0\r\nAuthorization: Bearer ${server.adminToken}\r\n\r\n`,
  )
  let text = ''
  for await (const chunk of socket) text += chunk
  t.match(text, /^HTTP\/1\.1 200 /)
  t.match(text, /\r\n\r\nbody$/)
})

t.test('who a front proxy would say that it is, nobody says of himself', async (t) => {
  const { server, told, path } = await startBehind(t, {
    requestheaderUsernameHeaders: ['X-Name'],
    requestheaderExtraHeadersPrefix: ['X-More-'],
  })
  const ours = {
    'x-remote-user': 'eve',
    'x-remote-uid': '1',
    'x-remote-group': 'system:masters',
    'x-remote-extra-a': 'b',
    'x-name': 'eve',
    'x-more-a': 'b',
  }
  await ask(server, path, { ...ours, 'x-remote-thing': 'kept' })
  const [shown = {}] = told
  t.strictSame(
    Object.keys(ours).filter((name) => name in shown),
    [],
  )
  t.equal(shown['x-remote-thing'], 'kept')
})
