/** Watches over WebSocket, as browsers and some client libraries speak them; the answers are those of kube-apiserver. */
import { once } from 'node:events'
import t from 'tap'
import WebSocket from 'ws'
import { eventually } from '../eventually.js'
import { call, startServer } from './start-server.js'

const origin = 'http://example.com'
const configMaps = '/api/v1/namespaces/default/configmaps'
const tokenProtocol = (token: string) =>
  `base64url.bearer.authorization.k8s.io.${Buffer.from(token).toString('base64url')}`

t.test('watches over WebSocket', async (t) => {
  const server = await startServer(t, { storage: 'memory:' })
  const url = (query: string) =>
    `${server.url.replace('https', 'wss')}${configMaps}?watch=1${query}`
  const dial = (query: string, protocols: string[], headers: Record<string, string>) => {
    const socket = new WebSocket(url(query), protocols, { ca: server.caPem, headers })
    t.teardown(() => socket.terminate())
    return socket
  }
  const admin = { authorization: `Bearer ${server.adminToken}`, origin }
  const create = (name: string) =>
    call(server, { method: 'POST', path: configMaps, body: { metadata: { name } } })
  const refusalOf = async (protocols: string[], headers: Record<string, string>, query = '') => {
    const socket = dial(query, protocols, headers)
    socket.on('error', () => {})
    const [, response] = await once(socket, 'unexpected-response')
    socket.terminate()
    return response.statusCode
  }
  /** What comes until the server hangs up. */
  const heard = async (socket: WebSocket) => {
    const messages: { text: string; isBinary: boolean }[] = []
    socket.on('message', (data, isBinary) => messages.push({ text: String(data), isBinary }))
    const [code] = await once(socket, 'close')
    return { messages, code }
  }

  await create('a')
  await create('b')
  const { resourceVersion } = (await call(server, { path: configMaps })).body.metadata

  t.test('each event is a message, and the end of its time a farewell', async (t) => {
    const messages: { text: string; isBinary: boolean }[] = []
    const socket = dial('', [], admin)
    socket.on('message', (data, isBinary) => messages.push({ text: String(data), isBinary }))
    await eventually('what is there', () => messages.length === 2)
    await create('c')
    await eventually('what comes', () => messages.length === 3)
    t.notOk(messages.some(({ isBinary }) => isBinary))
    const events = messages.map(({ text }) => JSON.parse(text))
    t.same(
      events.map(({ type, object }) => `${type} ${object.metadata.name}`),
      ['ADDED a', 'ADDED b', 'ADDED c'],
    )
    t.ok(messages.every(({ text }) => text.endsWith('}\n')))
    t.equal((await heard(dial('&timeoutSeconds=1', [], admin))).code, 1000)
  })

  t.test('protobuf comes in bytes, without the length that a message has of itself', async (t) => {
    const accept = 'application/vnd.kubernetes.protobuf'
    const [data, isBinary] = await once(dial('', [], { ...admin, accept }), 'message')
    const text = String(data)
    t.ok(isBinary)
    // The first field of a WatchEvent, its type, and then what it holds, which begins as all of Kubernetes' protobuf.
    t.equal(text.slice(0, 8), '\n\u0005ADDED\u0012')
    t.match(text, 'k8s\0')
  })

  t.test('an error is the last message', async (t) => {
    const future = Number(resourceVersion) + 1_000_000
    const initial = '&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&timeoutSeconds=1'
    const query = `${initial}&allowWatchBookmarks=true&resourceVersion=${future}`
    const { messages, code } = await heard(dial(query, [], admin))
    t.equal(code, 1000)
    t.match(JSON.parse(messages.at(-1)!.text), { type: 'ERROR', object: { code: 504 } })
  })

  t.test('one protocol is agreed on, whatever it is, and may bring the token', async (t) => {
    const socket = dial('', [tokenProtocol(server.adminToken), 'any'], { origin })
    await once(socket, 'message')
    t.equal(socket.protocol, 'any')
    t.equal(await refusalOf(['a', 'b'], admin), 400)
    t.equal(await refusalOf([tokenProtocol(server.adminToken)], { origin }), 401)
    t.equal(await refusalOf([tokenProtocol('wrong'), 'any'], { origin }), 401)
    t.equal(
      await refusalOf([tokenProtocol(server.adminToken), tokenProtocol('b'), 'c'], { origin }),
      401,
    )
  })

  t.test('a request without an Origin is refused', async (t) => {
    const { authorization } = admin
    t.equal(await refusalOf([], { authorization }), 403)
    t.equal(await refusalOf([], { authorization, origin: 'null' }), 403)
    t.equal(await refusalOf([], { origin }), 403, 'anonymous')
  })

  t.test('a handshake that says too little is refused without our headers', async (t) => {
    const handshake = {
      ...admin,
      connection: 'Upgrade',
      upgrade: 'websocket',
      'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==',
      'sec-websocket-version': '13',
    }
    const told = async (change: Record<string, string>) => {
      const { status, headers, text } = await call(server, {
        path: `${configMaps}?watch=1`,
        headers: { ...handshake, ...change },
      })
      return { status, headers, text }
    }
    t.same(await told({ 'sec-websocket-key': '' }), {
      status: 400,
      headers: {},
      text: 'mismatch challenge/response',
    })
    t.same(await told({ 'sec-websocket-version': '8' }), {
      status: 400,
      headers: { 'sec-websocket-version': '13' },
      text: 'missing or bad WebSocket Version',
    })
    t.same(await told({ origin: 'null' }), { status: 403, headers: {}, text: '' })
    t.same(await told({ 'sec-websocket-protocol': 'a,b' }), { status: 400, headers: {}, text: '' })
  })

  t.test('a client that leaves leaves no watch behind', async (t) => {
    // Each watch has a timer that ends it, at the earliest in half an hour.
    const timers = () => process.getActiveResourcesInfo().filter((n) => n === 'Timeout').length
    const before = timers()
    const sockets = Array.from({ length: 40 }, () => dial('', [], admin))
    await Promise.all(sockets.map((socket) => once(socket, 'message')))
    // Other timers end meanwhile.
    t.ok(timers() >= before + 20)
    for (const socket of sockets) socket.terminate()
    await eventually('their timers are gone', () => timers() < before + 20)
  })
})
