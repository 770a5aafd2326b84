/** What a client sees of the HTTP server itself, byte by byte: targets, headers and requests that Go reads in its own way. */
import { once } from 'node:events'
import http2 from 'node:http2'
import tls from 'node:tls'
import t, { type Test } from 'tap'
import { cleanTarget } from '#server/port/request-target.js'
import type { Server } from '#src/index.js'
import { call, startServer } from './start-server.js'

/** One exchange on a connection of its own, as it goes over the wire. */
const exchange = (server: Server, request: string): Promise<string> =>
  new Promise((resolve, reject) => {
    const { hostname, port } = new URL(server.url)
    const socket = tls.connect({ host: hostname, port: Number(port), ca: server.caPem }, () =>
      socket.write(request.replace('TOKEN', server.adminToken), 'latin1'),
    )
    let answer = ''
    socket.setEncoding('utf8')
    socket.on('data', (text) => {
      answer += text
    })
    // Who was still sending may find the connection reset behind the answer.
    socket.on('error', (error) => answer === '' && reject(error))
    socket.on('close', () => resolve(answer))
  })

const get = (target: string, headers = ''): string =>
  `GET ${target} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer TOKEN\r\nConnection: close\r\n${headers}\r\n`

const namespace = async (t: Test): Promise<Server> => {
  const server = await startServer(t)
  const metadata = { name: 'a', labels: { l: 'a' } }
  const path = '/api/v1/namespaces/default/configmaps'
  await call(server, { method: 'POST', path, body: { metadata } })
  return server
}

t.test('targets are read as Go reads them', async (t) => {
  const server = await namespace(t)
  const maps = '/api/v1/namespaces/default/configmaps'
  const codes: Record<string, number> = {
    [`${maps}/a`]: 200,
    [`${maps}/a//`]: 200,
    '/api%2Fv1': 200,
    '/api/v1/namespaces%2Fdefault': 200,
    [`${maps}/a%2Fb`]: 404,
    [`${maps}/a#b`]: 404,
    [`${maps}/%ff`]: 404,
    [`${maps}/%zz`]: 400,
    [`${maps}?limit=%zz`]: 200,
    [`${maps}?limit=x;y`]: 200,
    [`${maps}?limit=x`]: 400,
    '//': 404,
    [`${maps}?x=${'y'.repeat(500_000)}`]: 200,
    [`${maps}?x=${'y'.repeat(1_100_000)}`]: 431,
  }
  for (const [target, code] of Object.entries(codes)) {
    const answer = await exchange(server, get(target))
    t.equal(answer.slice(0, 12), `HTTP/1.1 ${code}`, target.slice(0, 60))
  }
  const odd = await exchange(server, get(`${maps}/a%00b`))
  t.match(odd, 'configmaps \\"a\\\\x00b\\" not found', 'names in messages are quoted as Go quotes')
})

t.test('a target that needs no care stays as it is, and care once is enough', (t) => {
  for (const target of ['/', '/api', '/api/v1/pods?labelSelector=a%3Db&watch=1', '/a%20b'])
    t.equal(cleanTarget(target), target)
  for (const target of ['/a%2fb//', '/x#y?a;b&c=%z&d=1', '/%ff%e4', '//', '/a///?;'])
    t.equal(cleanTarget(cleanTarget(target)), cleanTarget(target), target)
  t.end()
})

t.test('what the parser cannot read is answered in Go’s words', async (t) => {
  const server = await startServer(t)
  const head = (request: string) => exchange(server, request).then((a) => a.split('\r\n')[0])
  t.equal(
    await head('GET / HTTP/1.1\r\nHost: x\r\nA b: c\r\n\r\n'),
    'HTTP/1.1 400 Bad Request: invalid header name',
  )
  t.equal(
    await head('GET / HTTP/1.1\r\nHost: x\r\nContent-Length: y\r\n\r\n'),
    'HTTP/1.1 400 Bad Request',
  )
  t.equal(await head('GET / HTTP/1.1\r\nConnection: close\r\n\r\n'), 'HTTP/1.1 400 Bad Request')
  const unknown = await exchange(server, 'FOO /api/v1 HTTP/1.1\r\nHost: x\r\n\r\n')
  t.match(unknown, /^HTTP\/1.1 405 Method Not Allowed\r\n.*"reason":"MethodNotAllowed"/s)
  // A method may be any token, and what a client sends of a body without saying how long it is may not be one.
  const noRequests = [
    '{"a":1}GET /api HTTP/1.1',
    'G@T /api HTTP/1.1',
    'FOO',
    'FOO /api',
    'FOO x HTTP/1.1',
  ]
  for (const line of [...noRequests, ' /api HTTP/1.1', 'FOO /api HTTP/1.1x'])
    t.equal(await head(`${line}\r\nHost: x\r\n\r\n`), 'HTTP/1.1 400 Bad Request', line)
  for (const line of ['get /api HTTP/1.1', 'F!#$ * HTTP/1.1'])
    t.equal(await head(`${line}\r\nHost: x\r\n\r\n`), 'HTTP/1.1 405 Method Not Allowed', line)
  const tunnel = await exchange(server, 'CONNECT x:1 HTTP/1.1\r\nHost: x\r\n\r\n')
  t.match(tunnel, /^HTTP\/1.1 405 /)
})

t.test('a client that goes on sending a refused body can still read the answer', async (t) => {
  const server = await startServer(t)
  const { hostname, port } = new URL(server.url)
  const socket = tls.connect({ host: hostname, port: Number(port), ca: server.caPem })
  await once(socket, 'secureConnect')
  const closed = new Promise((resolve) => socket.once('close', resolve))
  socket.on('error', () => undefined)
  let answer = ''
  socket.on('data', (bytes) => {
    answer += bytes
  })
  socket.write(`GET /?x=${'y'.repeat(1_100_000)}`)
  const more = Buffer.alloc(65_536, 'y')
  for (let sent = 0; sent < 64 && answer === ''; sent++)
    await new Promise((resolve) => socket.write(more, resolve))
  await closed
  t.match(answer, /^HTTP\/1.1 431 /)
})

t.test('answers name their flow schema, and refusals are no page', async (t) => {
  const server = await startServer(t)
  const flow = '/apis/flowcontrol.apiserver.k8s.io/v1'
  const uidOf = async (kind: string, name: string): Promise<string> =>
    (await call(server, { path: `${flow}/${kind}/${name}` })).body.metadata.uid
  const pf = 'x-kubernetes-pf'
  const admins = await call(server, { path: '/api' })
  t.match(admins.headers, {
    [`${pf}-flowschema-uid`]: await uidOf('flowschemas', 'exempt'),
    [`${pf}-prioritylevel-uid`]: await uidOf('prioritylevelconfigurations', 'exempt'),
  })
  const profile = await call(server, { path: '/debug/pprof/', token: '' })
  t.notOk(`${pf}-flowschema-uid` in profile.headers, 'a profile may take long')
  const refused = await call(server, { path: '/<b>', token: '' })
  t.match(refused, {
    status: 403,
    headers: {
      'x-content-type-options': 'nosniff',
      [`${pf}-flowschema-uid`]: await uidOf('flowschemas', 'global-default'),
    },
  })
  t.match(refused.body.message, '/&lt;b&gt;')
  const spec = {
    matchingPrecedence: 3,
    priorityLevelConfiguration: { name: 'workload-low' },
    rules: [
      {
        subjects: [{ kind: 'User', user: { name: 'system:anonymous' } }],
        nonResourceRules: [{ verbs: ['get'], nonResourceURLs: ['/mine/*'] }],
      },
    ],
  }
  const body = { metadata: { name: 'mine' }, spec }
  const made = await call(server, { method: 'POST', path: `${flow}/flowschemas`, body })
  const mine = await call(server, { path: '/mine/x', token: '' })
  t.equal(mine.headers[`${pf}-flowschema-uid`], made.body.metadata.uid)
})

t.test('errors are indented where no clause of Accept fits, objects end their line', async (t) => {
  const server = await namespace(t)
  const path = '/api/v1/namespaces/default/configmaps/a'
  const headers = { accept: 'text/html' }
  t.match((await call(server, { path: '/api/v1/nope', headers })).text, '{\n  "kind": "Status",')
  t.match((await call(server, { path })).text, /[^\n]\n$/)
  const plain = (await call(server, { path })).body
  const pretty = await call(server, { path: `${path}?pretty=1` })
  t.equal(pretty.text, JSON.stringify(plain, null, 2), 'the same fields in the same order')
})

t.test('a body over HTTP/2 that names neither its type nor its length is read', async (t) => {
  const server = await startServer(t)
  const session = http2.connect(server.url, { ca: server.caPem })
  t.teardown(() => session.close())
  const path = '/api/v1/namespaces/default/configmaps'
  const send = async (method: string, target: string, body: string): Promise<string> => {
    const authorization = `Bearer ${server.adminToken}`
    const stream = session.request(
      { ':method': method, ':path': target, authorization },
      { endStream: false },
    )
    stream.end(body)
    let text = ''
    for await (const chunk of stream.setEncoding('utf8')) text += chunk
    return text
  }
  const object = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a' } }
  t.equal(JSON.parse(await send('POST', path, JSON.stringify(object))).metadata.name, 'a')
  t.match(JSON.parse(await send('DELETE', `${path}/a`, '{"kind":"Pod"}')), { code: 400 })
  t.match(JSON.parse(await send('DELETE', `${path}/a`, '')), { status: 'Success' })
})
