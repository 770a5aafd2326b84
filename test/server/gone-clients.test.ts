/** Clients that leave while the server still looks who they are or while they watch, and such as never come to an end. */
import { once } from 'node:events'
import http2 from 'node:http2'
import { setImmediate as nextTurn } from 'node:timers/promises'
import tls from 'node:tls'
import t from 'tap'
import { limits } from '#limits'
import type { Server } from '#src/index.js'
import { eventually } from '../eventually.js'
import { call, startServer, startWithLimits } from './start-server.js'

const serviceAccounts = '/api/v1/namespaces/default/serviceaccounts'
const pods = '/api/v1/namespaces/default/pods'

/** Tokens that nobody has shown yet: each takes a moment to be verified. */
const freshTokens = async (server: Server, count: number): Promise<string[]> => {
  await call(server, { method: 'POST', path: serviceAccounts, body: { metadata: { name: 'a' } } })
  const ask = async (i: number): Promise<string> => {
    const body = { spec: { expirationSeconds: 600 + i } }
    const path = `${serviceAccounts}/a/token`
    return (await call(server, { method: 'POST', path, body })).body.status.token
  }
  return Promise.all(Array.from({ length: count }, (_, i) => ask(i)))
}

/** The one that asks counts. */
const onlyThisOne = async (server: Server): Promise<boolean> => {
  const { text } = await call(server, { path: '/metrics' })
  return text.includes('apiserver_current_inflight_requests{request_kind="readOnly"} 1\n')
}

t.test('a client that leaves while its token is verified is no longer in flight', async (t) => {
  const server = await startServer(t)
  const { hostname: host, port } = new URL(server.url)
  const tokens = await freshTokens(server, 30)
  for (const token of tokens.splice(0, 20)) {
    const socket = tls.connect({ host, port: Number(port), ca: server.caPem })
    await once(socket, 'secureConnect')
    socket.write(`GET ${pods} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\n\r\n`, () =>
      socket.destroy(),
    )
    await once(socket, 'close')
  }
  await eventually('nobody in flight', () => onlyThisOne(server))
  const session = http2.connect(server.url, { ca: server.caPem })
  t.teardown(() => session.destroy())
  for (const token of tokens) {
    const stream = session.request({ ':path': pods, authorization: `Bearer ${token}` })
    await nextTurn()
    stream.close(http2.constants.NGHTTP2_CANCEL)
    await once(stream, 'close')
  }
  await eventually('nobody in flight over HTTP/2', () => onlyThisOne(server))
})

t.test('a watch holds nothing any more when its client has left, however it left', async (t) => {
  const server = await startServer(t)
  const path = '/api/v1/namespaces/default/configmaps?watch=1'
  const headers = { ':path': path, authorization: `Bearer ${server.adminToken}` }
  // Each watch has a timer that ends it, at the earliest in half an hour.
  const timers = () => process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length
  const connect = async () => {
    const session = http2.connect(server.url, { ca: server.caPem })
    t.teardown(() => session.destroy())
    const streams = Array.from({ length: 40 }, () => session.request(headers))
    await Promise.all(streams.map((stream) => once(stream.resume(), 'response')))
    return { session, streams }
  }
  const before = timers()
  const reset = await connect()
  // Other timers end meanwhile.
  t.ok(timers() >= before + 20)
  for (const stream of reset.streams) stream.close(http2.constants.NGHTTP2_CANCEL)
  await eventually('no watch of streams that were reset', () => timers() < before + 20)
  const { session } = await connect()
  session.destroy()
  await eventually('no watch of a session that went', () => timers() < before + 20)
  const { hostname: host, port } = new URL(server.url)
  for (let i = 0; i < 40; i++) {
    const socket = tls.connect({ host, port: Number(port), ca: server.caPem })
    await once(socket, 'secureConnect')
    const { authorization } = headers
    socket.write(`GET ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: ${authorization}\r\n\r\n`)
    await once(socket, 'data')
    socket.destroy()
  }
  await eventually('no watch of sockets that closed', () => timers() < before + 20)
})

t.test('a body that never ends holds nothing once its time is over', async (t) => {
  const server = await startServer(t, { requestTimeoutMs: 1_000, maxMutatingRequestsInFlight: 4 })
  const path = '/api/v1/namespaces/default/configmaps'
  const authorization = `Bearer ${server.adminToken}`
  const session = http2.connect(server.url, { ca: server.caPem })
  t.teardown(() => session.destroy())
  const type = 'application/json'
  const slow = Array.from({ length: 4 }, () => {
    const headers = { ':method': 'POST', ':path': path, authorization, 'content-type': type }
    const stream = session.request(headers, { endStream: false })
    stream.resume().write('{')
    return stream
  })
  const answers = await Promise.all(slow.map((stream) => once(stream, 'response')))
  t.same(
    answers.map(([headers]) => headers[':status']),
    [504, 504, 504, 504],
  )
  const create = (name: string) =>
    call(server, { method: 'POST', path, body: { metadata: { name } } })
  await eventually('room for a write', async () => (await create('a')).status !== 429)
  const { hostname: host, port } = new URL(server.url)
  const socket = tls.connect({ host, port: Number(port), ca: server.caPem })
  t.teardown(() => socket.destroy())
  let said = ''
  socket.on('data', (chunk) => (said += chunk))
  socket.on('error', () => {})
  const head = `Host: x\r\nAuthorization: ${authorization}\r\nContent-Type: ${type}\r\n`
  socket.write(`POST ${path} HTTP/1.1\r\n${head}Content-Length: 3000000\r\n\r\n{`)
  await eventually('an end of what is sent bit by bit', () => {
    socket.write(' ')
    return socket.destroyed
  })
  t.match(said, 'HTTP/1.1 504 ')
})

t.test('what a client asks for behind a watch is read when that has ended', async (t) => {
  const server = await startServer(t)
  const configMaps = '/api/v1/namespaces/default/configmaps'
  const { hostname: host, port } = new URL(server.url)
  const headers = `HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${server.adminToken}\r\n\r\n`
  const get = `GET /version ${headers}`
  const watch = (seconds: number) =>
    `GET ${configMaps}?watch=1&timeoutSeconds=${seconds} ${headers}`
  const watching = async (behind: string) => {
    const socket = tls.connect({ host, port: Number(port), ca: server.caPem })
    t.teardown(() => socket.destroy())
    let said = ''
    socket.setEncoding('latin1').on('data', (text: string) => (said += text))
    socket.write(watch(1) + behind)
    await eventually('the beginning of the watch', () => said !== '')
    return { socket, codes: () => said.match(/(?<=HTTP\/1\.1 )\d+/g)?.join() }
  }
  const short = await watching(get)
  short.socket.write(get)
  await eventually('all answers', () => short.codes() === '200,200,200')
  const long = await watching(watch(600))
  // More than the kernel holds on the way.
  long.socket.write(get.repeat(Math.ceil(16_000_000 / get.length)))
  await eventually('the beginning of the next watch', () => long.codes() === '200,200')
  for (let i = 0; i < 100; i++) await call(server, { path: '/version' })
  t.ok(long.socket.writableLength > 0, 'the rest is left to who sent it')
  t.equal(long.codes(), '200,200')
})

t.test('what a client asks for before it takes its answer waits, and goes with it', async (t) => {
  const server = await startServer(t)
  const configMaps = '/api/v1/namespaces/default/configmaps'
  const large = { data: { text: 'x'.repeat(900_000) } }
  for (let i = 0; i < 10; i++)
    await call(server, {
      method: 'POST',
      path: configMaps,
      body: { metadata: { name: `large-${i}` }, ...large },
    })
  const { hostname: host, port } = new URL(server.url)
  const authorization = `Host: x\r\nAuthorization: Bearer ${server.adminToken}\r\n`
  const lists = `GET ${configMaps} HTTP/1.1\r\n${authorization}\r\n`.repeat(10)
  const creates = (name: string): string => {
    const body = JSON.stringify({ metadata: { name } })
    return `POST ${configMaps} HTTP/1.1\r\n${authorization}Content-Length: ${body.length}\r\n\r\n${body}`
  }
  const isThere = async (name: string) =>
    (await call(server, { path: `${configMaps}/${name}` })).status === 200
  const asksAndTakesNothing = async (name: string) => {
    const socket = tls.connect({ host, port: Number(port), ca: server.caPem })
    t.teardown(() => socket.destroy())
    await once(socket, 'secureConnect')
    socket.write(lists + creates(name))
    // Longer than it takes to serve what is asked for.
    for (let i = 0; i < 50; i++) t.notOk(await isThere(name))
    return socket
  }
  const socket = await asksAndTakesNothing('taken')
  const codes: string[] = []
  socket.setEncoding('latin1').on('data', (text: string) => {
    codes.push(...(text.match(/(?<=HTTP\/1\.1 )\d+/g) ?? []))
  })
  await eventually('its answers in their order', () => codes.length === 11)
  t.same(codes, [...Array<string>(10).fill('200'), '201'])
  t.ok(await isThere('taken'))
  const gone = await asksAndTakesNothing('left')
  gone.destroy()
  await eventually('nobody in flight', () => onlyThisOne(server))
  t.notOk(await isThere('left'))
})

t.test(
  'a body that is refused unread holds its connection no longer than one that is read',
  async (t) => {
    const server = await startWithLimits(t, {})
    const { hostname: host, port } = new URL(server.url)
    const begin = async (
      length: number,
    ): Promise<{ socket: tls.TLSSocket; said: () => string }> => {
      const socket = tls.connect({ host, port: Number(port), ca: server.caPem })
      t.teardown(() => socket.destroy())
      let said = ''
      socket.on('data', (chunk) => (said += chunk)).on('error', () => {})
      const head = 'Host: x\r\nAuthorization: Bearer nobody\r\n'
      socket.write(
        `POST /api/v1/namespaces/default/configmaps HTTP/1.1\r\n${head}Content-Length: ${length}\r\n\r\n{`,
      )
      await once(socket, 'data')
      return { socket, said: () => said }
    }
    const whole = await begin(1_000)
    whole.socket.write(' '.repeat(999))
    Object.assign(limits, { writeTimeoutMs: 500 })
    const slow = await begin(1_000_000)
    await eventually('an end of what is sent bit by bit', () => {
      slow.socket.write(' ')
      return slow.socket.destroyed
    })
    t.match(slow.said(), 'HTTP/1.1 401 ')
    whole.socket.write('GET /version HTTP/1.1\r\nHost: x\r\n\r\n')
    await eventually('an answer to who sent the whole', () =>
      /HTTP\/1.1 401 .*HTTP\/1.1 [24]0/s.test(whole.said()),
    )
  },
)
