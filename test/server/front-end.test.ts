/** What the port offers and its answers carry as the options want it, compared with kube-apiserver v1.36.3. */
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import http2 from 'node:http2'
import https from 'node:https'
import { text } from 'node:stream/consumers'
import tls from 'node:tls'
import t, { type Test } from 'tap'
import { issueCertificate } from '#net/x509.js'
import type { Server } from '#src/index.js'
import { createServer } from '../create-server.js'
import { eventually } from '../eventually.js'
import { freePort } from '../free-port.js'
import { call, startServer } from './start-server.js'

const path = '/api/v1/namespaces/default'

t.test(
  'pages of allowed origins may see answers, and are told so without credentials',
  async (t) => {
    const server = await startServer(t, {
      corsAllowedOrigins: ['//example\\.com$'],
      strictTransportSecurityDirectives: ['max-age=31536000', 'includeSubDomains'],
    })
    const from = (origin: string, method = 'GET') =>
      call(server, { path, method, headers: { origin }, ...(method !== 'GET' && { token: '' }) })
    const expected = {
      'access-control-allow-credentials': 'true',
      'access-control-allow-headers':
        'Content-Type, Content-Length, Accept-Encoding, X-CSRF-Token, Authorization, X-Requested-With, If-Modified-Since',
      'access-control-allow-methods': 'POST, GET, OPTIONS, PUT, DELETE, PATCH',
      'access-control-allow-origin': 'https://example.com',
      'access-control-expose-headers': 'Date',
      'strict-transport-security': 'max-age=31536000; includeSubDomains',
    }
    const read = await from('https://example.com')
    t.equal(read.body.metadata.name, 'default')
    t.match(read.headers, expected)
    const asked = await from('https://example.com', 'OPTIONS')
    t.match(asked, { status: 204, text: '', headers: expected })
    t.notOk(asked.headers['content-type'])
    const refused = await from('https://example.com.org', 'OPTIONS')
    t.equal(refused.status, 403)
    t.notOk(refused.headers['access-control-allow-origin'])
    const watch = await call(server, {
      path: `${path.replace('/default', '')}?watch=true&timeoutSeconds=1`,
      headers: { origin: 'https://example.com' },
    })
    t.match(watch.headers, expected, 'of a watch, too')
  },
)

/** What a client learns of a server in its handshake. */
const handshake = (server: Server, options: tls.ConnectionOptions): Promise<tls.TLSSocket> =>
  new Promise((resolve, reject) => {
    const { port } = new URL(server.url)
    const socket = tls.connect({
      port: Number(port),
      host: '127.0.0.1',
      rejectUnauthorized: false,
      ALPNProtocols: ['h2', 'http/1.1'],
      ...options,
    })
    socket.once('secureConnect', () => resolve(socket))
    socket.once('error', reject)
  })

t.test('versions and ciphers of TLS', async (t) => {
  const server = await startServer(t, {
    tlsCipherSuites: [
      'TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384',
      'TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384',
    ],
  })
  const old = await handshake(server, { maxVersion: 'TLSv1.2' })
  t.match(old.getCipher().standardName, /^TLS_ECDHE_(RSA|ECDSA)_WITH_AES_256_GCM_SHA384$/)
  old.destroy()
  const recent = await handshake(server, {})
  t.equal(recent.getProtocol(), 'TLSv1.3', 'which has ciphers of its own')
  recent.destroy()
  const ciphers = 'ECDHE-RSA-AES128-GCM-SHA256:ECDHE-ECDSA-AES128-GCM-SHA256'
  await t.rejects(handshake(server, { maxVersion: 'TLSv1.2', ciphers }))
  const strict = await startServer(t, { tlsMinVersion: 'VersionTLS13' })
  await t.rejects(handshake(strict, { maxVersion: 'TLSv1.2' }))
  for (const tlsMinVersion of ['VersionTLS14', 'toString'])
    await t.rejects(createServer({ tlsMinVersion }), {
      message: `unknown tls version "${tlsMinVersion}"`,
    })
  await t.rejects(createServer({ tlsCipherSuites: ['NOPE'] }), {
    message: "Cipher suite NOPE not supported or doesn't exist",
  })
})

t.test('HTTP/2 may be off, and its streams bounded', async (t) => {
  const without = await startServer(t, { disableHttp2Serving: true })
  const socket = await handshake(without, {})
  t.equal(socket.alpnProtocol, 'http/1.1')
  socket.destroy()
  t.equal((await call(without, { path })).status, 200)
  const bounded = await startServer(t, { http2MaxStreamsPerConnection: 7 })
  const session = http2.connect(bounded.url, { ca: bounded.caPem })
  const settings = await new Promise<http2.Settings>((resolve) =>
    session.once('remoteSettings', resolve),
  )
  t.equal(settings.maxConcurrentStreams, 7)
  session.destroy()
})

t.test('certificates for the names that clients ask for', async (t) => {
  const folder = t.testdir()
  const files = (name: string, subject = name) => {
    const { certPem, keyPem } = issueCertificate({
      use: 'server',
      subject: { commonName: subject },
      names: [name],
      notBeforeMs: Date.now() - 1000,
      notAfterMs: Date.now() + 3_600_000,
    })
    const [certFile, keyFile] = ['crt', 'key'].map((end) => `${folder}/${name}.${end}`)
    writeFileSync(certFile!, certPem)
    writeFileSync(keyFile!, keyPem)
    return { certFile: certFile!, keyFile: keyFile! }
  }
  const own = files('own.example.com')
  const told = files('told.example.com')
  const server = await startServer(t, {
    tlsSniCertKeys: [own, { ...told, names: ['*.example.com', 'exact.example.com'] }],
  })
  const shownTo = async (servername: string) => {
    const socket = await handshake(server, { servername })
    const { CN } = socket.getPeerCertificate().subject
    socket.destroy()
    return CN
  }
  t.equal(await shownTo('own.example.com'), 'own.example.com', 'a name before a pattern')
  t.equal(await shownTo('other.example.com'), 'told.example.com')
  t.equal(await shownTo('exact.example.com'), 'told.example.com')
  t.not(await shownTo('localhost'), 'told.example.com')
  files('told.example.com', 'anew')
  await eventually('one that takes the place of a former is shown', async () => {
    return (await shownTo('other.example.com')) === 'anew'
  })
  t.equal(await shownTo('own.example.com'), 'own.example.com')
})

t.test('some connections of HTTP/2 end behind a request, which is answered', async (t) => {
  const server = await startServer(t, { goawayChance: 0.02 })
  const authorization = `Bearer ${server.adminToken}`
  const session = http2.connect(server.url, { ca: server.caPem })
  const gone = new Promise<void>((resolve) => session.once('goaway', () => resolve()))
  let isGone = false
  void gone.then(() => {
    isGone = true
  })
  const get = (): Promise<unknown> =>
    new Promise((resolve, reject) => {
      const stream = session.request({ ':path': '/healthz', authorization })
      stream.once('response', (headers) => resolve(headers[':status']))
      stream.once('error', reject)
      stream.resume()
    })
  let answered = 0
  // That none of so many is chosen happens less than once in ten to the seventeenth.
  while (!isGone && answered < 2_000) {
    t.equal(await get(), 200)
    answered++
  }
  t.ok(isGone, `after ${answered} requests`)
  session.destroy()
})

t.test('a watch that names no time ends between the shortest and twice that', async (t) => {
  const server = await startServer(t, { minRequestTimeoutSeconds: 1 })
  const { status } = await call(server, { path: '/api/v1/pods?watch=true' })
  t.equal(status, 200, 'and it ended')
})

/** A request that is under way until `end`. */
const openRequest = async (server: Server) => {
  const request = https.request(`${server.url}/api/v1/namespaces`, {
    method: 'POST',
    ca: server.caPem,
    agent: false,
    headers: {
      authorization: `Bearer ${server.adminToken}`,
      'content-type': 'application/json',
      'content-length': '100',
    },
  })
  request.write('{"metadata":{"name":"slow"}}')
  const answer = new Promise<number>((resolve, reject) => {
    request.once('response', (response) => {
      response.resume()
      resolve(response.statusCode!)
    })
    request.once('error', reject)
  })
  await eventually('the request is under way', async () =>
    /inflight_requests\{request_kind="mutating"\} 1/.test(
      (await call(server, { path: '/metrics' })).text,
    ),
  )
  return { answer, end: () => request.end(' '.repeat(72)) }
}

/** What it answers while it waits before it shuts down; where the machine was too slow for that, one that waits longer. */
const startShuttingDown = async (t: Test, shutdownDelayMs = 3_000) => {
  // None that another process could get as soon as it is free.
  const port = await freePort()
  const server = await startServer(t, { port, shutdownDelayMs, shutdownSendRetryAfter: true })
  const slow = await openRequest(server)
  const began = performance.now()
  const closed = server.close()
  const health = await call(server, { path: '/readyz' })
  const live = await call(server, { path: '/livez' })
  const other = await call(server, { path })
  if (performance.now() - began < shutdownDelayMs)
    return { server, slow, closed, health, live, other }
  slow.end()
  await closed
  return startShuttingDown(t, 2 * shutdownDelayMs)
}

t.test('a server that shuts down tells clients to retry, and closes connections', async (t) => {
  const { server, slow, closed, health, live, other } = await startShuttingDown(t)
  const agent = new https.Agent({ keepAlive: true, maxSockets: 1 })
  t.teardown(() => agent.destroy())
  t.equal(health.status, 500)
  t.match(health.text, /\[-\]shutdown failed/)
  t.equal(live.text, 'ok')
  t.equal(other.status, 200, 'it goes on for a while')
  await eventually('others are refused', async () => (await call(server, { path })).status === 429)
  const late = await call(server, { path, agent })
  t.match(late, {
    status: 429,
    text: 'The apiserver is shutting down, please try again later.\n',
    headers: {
      connection: 'close',
      'content-type': 'text/plain; charset=utf-8',
      'retry-after': '5',
      'x-content-type-options': 'nosniff',
    },
  })
  t.notOk(late.headers['cache-control'])
  t.equal((await call(server, { path: '/livez' })).text, 'ok')
  slow.end()
  t.equal(await slow.answer, 201, 'what was begun is done')
  await closed
  await t.rejects(call(server, { path }), { code: 'ECONNREFUSED' })
})

t.test('who has no valid credentials gets one request of a session of HTTP/2', async (t) => {
  const server = await startServer(t)
  const ask = async (headers: http2.OutgoingHttpHeaders) => {
    const session = http2.connect(server.url, { ca: server.caPem })
    let isGone = false
    session.once('goaway', () => {
      isGone = true
    })
    const stream = session.request(headers)
    const [{ ':status': code }] = await once(stream, 'response')
    await text(stream)
    const known = { authorization: `Bearer ${server.adminToken}` }
    if (!isGone) await once(session.request(known), 'response')
    session.destroy()
    return [code, isGone]
  }
  const path = '/version'
  t.same(await ask({ ':path': path }), [200, true])
  t.same(await ask({ ':path': path, authorization: 'Bearer none' }), [401, true])
  const authorization = `Bearer ${server.adminToken}`
  t.same(await ask({ ':path': path, authorization }), [200, false])
  // A tunnel is no path of ours. (Over HTTP/1.1 it is refused before it is a request.)
  const connect = { ':method': 'CONNECT', ':authority': 'a:1' }
  t.same(await ask({ ...connect, authorization }), [404, false])
  t.same(await ask(connect), [403, true])
})
