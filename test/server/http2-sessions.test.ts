/** Sessions of HTTP/2 of which nobody would hear any more. */
import { once } from 'node:events'
import http2 from 'node:http2'
import tls from 'node:tls'
import { Worker } from 'node:worker_threads'
import t, { type Test } from 'tap'
import { nextTurn } from '#async/turns.js'
import { limits } from '#limits'
import type { Server } from '#src/index.js'
import { eventually } from '../eventually.js'
import { call, startWithLimits } from './start-server.js'

const pods = '/api/v1/namespaces/default/pods'

const frame = (type: number, flags: number, stream: number, payload = Buffer.alloc(0)): Buffer => {
  const head = Buffer.alloc(9)
  head.writeUIntBE(payload.length, 0, 3)
  head[3] = type
  head[4] = flags
  head.writeUInt32BE(stream, 5)
  return Buffer.concat([head, payload])
}
const preface = Buffer.concat([Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'), frame(4, 0, 0)])
/** After each of these nghttp2 reads no more. */
const offences = {
  'data of no stream': frame(0, 0, 0, Buffer.from('x')),
  'headers that cannot be read': frame(1, 5, 1, Buffer.alloc(8, 0xff)),
  'a frame beyond all bounds': Buffer.from('ffffff000000000000', 'hex'),
  'the rest of no headers': frame(9, 4, 1),
  'a ping of seven bytes': frame(6, 0, 0, Buffer.alloc(7)),
}

/** Sockets of this process that somebody has connected to it. */
const accepted = (): number => {
  const { _getActiveHandles } = process as unknown as { _getActiveHandles(): object[] }
  return _getActiveHandles.call(process).filter((handle) => 'bytesRead' in handle).length
}

const start = (t: Test, sessionLookMs = 500): Promise<Server> =>
  startWithLimits(t, { sessionLookMs })

t.test('a client that breaks the protocol and leaves holds no socket', async (t) => {
  const server = await start(t)
  const { hostname: host, port } = new URL(server.url)
  const before = accepted()
  for (const bytes of Object.values(offences)) {
    const options = { host, port: Number(port), ca: server.caPem, ALPNProtocols: ['h2'] }
    const socket = tls.connect(options).resume()
    await once(socket, 'secureConnect')
    socket.write(preface)
    // The server's own settings have come: it has seen ours.
    await once(socket, 'data')
    socket.write(bytes, () => socket.destroy())
    await once(socket, 'close')
  }
  await eventually('no socket is left', () => accepted() <= before)
})

t.test('requests that their client resets are no longer in flight', async (t) => {
  const server = await start(t)
  const before = accepted()
  const session = http2.connect(server.url, { ca: server.caPem })
  session.on('error', () => {})
  await once(session, 'connect')
  for (let i = 0; i < 3_000 && !session.destroyed; i++) {
    const authorization = `Bearer ${server.adminToken}`
    const stream = session.request({ ':path': pods, authorization })
    stream.on('error', () => {})
    stream.close(http2.constants.NGHTTP2_CANCEL)
  }
  session.destroy()
  await eventually('no socket is left', () => accepted() <= before)
  const { text } = await call(server, { path: '/metrics' })
  const executing = /^apiserver_flowcontrol_current_executing_requests\{.* [1-9]\d*$/gm
  t.match(text.match(executing), [/schema="exempt".* 1$/], 'but who asks')
})

t.test('a session that is used stays, and one without streams is told to go', async (t) => {
  const server = await start(t)
  const session = http2.connect(server.url, { ca: server.caPem })
  t.teardown(() => session.destroy())
  const closed = once(session, 'close')
  const gone = once(session, 'goaway')
  const authorization = `Bearer ${server.adminToken}`
  const watch = session.request({ ':path': `${pods}?watch=1`, authorization })
  await once(watch, 'response')
  Object.assign(limits, { keepAliveTimeoutMs: 300 })
  let pings = 0
  session.on('ping', () => pings++)
  await eventually('it was asked some times', () => pings > 4)
  t.notOk(session.closed)
  watch.close()
  await gone
  await closed
})

/** In a thread of its own it answers pings while this one stands still; the array tells how many. */
const pinged = `
  import { connect } from 'node:http2'
  import { parentPort, workerData } from 'node:worker_threads'
  const { url, ca, path, authorization, pings } = workerData
  const session = connect(url, { ca })
  // By then the answer is written.
  const answered = () => {
    Atomics.add(pings, 0, 1)
    Atomics.notify(pings, 0)
  }
  session.on('ping', () => setImmediate(answered))
  session.on('error', () => {}).once('close', () => parentPort.postMessage('closed'))
  session.request({ ':path': path, authorization }).once('response', () => parentPort.postMessage('open'))
`

/** Whether a server that stands still for longer than a client has to answer keeps the client. */
const keepsClient = async (t: Test, sessionLookMs: number): Promise<boolean> => {
  const server = await start(t, sessionLookMs)
  const pings = new Int32Array(new SharedArrayBuffer(4))
  const authorization = `Bearer ${server.adminToken}`
  const workerData = {
    url: server.url,
    ca: server.caPem,
    path: `${pods}?watch=1`,
    authorization,
    pings,
  }
  const module = new URL(`data:text/javascript,${encodeURIComponent(pinged)}`)
  const client = new Worker(module, { workerData })
  t.teardown(() => client.terminate())
  const [said] = await once(client, 'message')
  t.equal(said, 'open')
  let isClosed = false
  client.once('message', () => {
    isClosed = true
  })
  for (let asked = 0; asked < 3 && !isClosed; ) {
    const before = Atomics.load(pings, 0)
    await nextTurn()
    // Between its question, which goes out at the end of a turn, and the turn that would read the answer.
    if (Atomics.wait(pings, 0, before, 5) === 'timed-out') continue
    Atomics.wait(pings, 0, before + 1, 2 * sessionLookMs)
    asked++
  }
  await call(server, { path: '/version' })
  return !isClosed
}

t.test('a server that stood still first reads what clients have answered meanwhile', async (t) => {
  // A busy machine may let the client's thread wait for longer than that.
  t.ok((await keepsClient(t, 500)) || (await keepsClient(t, 10_000)))
})

t.test(
  'a server that closes sends its clients elsewhere and answers what they asked',
  async (t) => {
    const server = await start(t)
    const session = http2.connect(server.url, { ca: server.caPem })
    session.on('error', () => {})
    t.teardown(() => session.destroy())
    await once(session, 'connect')
    const authorization = `Bearer ${server.adminToken}`
    const post = session.request({
      ':method': 'POST',
      ':path': '/api/v1/namespaces',
      authorization,
      'content-type': 'application/json',
    })
    post.write('{"metadata":')
    // A ping comes back after what was written before it is read.
    await new Promise((resolve) => session.ping(resolve))
    const gone = once(session, 'goaway')
    const closing = server.close()
    await gone
    t.ok(session.closed, 'nothing more can be asked here')
    const answered = once(post, 'response')
    post.end('{"name":"asked-before"}}')
    const [headers] = await answered
    t.equal(headers[':status'], 201)
    post.resume()
    await closing
  },
)
