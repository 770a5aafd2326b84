/** What the kubelet's server holds of its clients' streams: little, and nothing of those that are over. */
import { once } from 'node:events'
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import { type Duplex, Readable, Writable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import { createDeflate } from 'node:zlib'
import t, { type Test } from 'tap'
import { WebSocket, WebSocketServer } from 'ws'
import { startCriSession } from '#kubelet/runtime/cri/cri-session.js'
import type { Session } from '#kubelet/runtime.js'
import { sendAll, take } from '#kubelet/server/flow-control.js'
import { runSession, type Wire } from '#kubelet/server/run-session.js'
import { SpdyConnection, type SpdyStream } from '#kubelet/server/spdy.js'
import { HeaderCodec } from '#kubelet/server/spdy-headers.js'
import { limits } from '#limits'
import { eventually } from '../eventually.js'

const pair = async (t: Test): Promise<{ server: WebSocket; client: WebSocket }> => {
  const listener = new WebSocketServer({ host: '127.0.0.1', port: 0 })
  await once(listener, 'listening')
  const accepted = once(listener, 'connection')
  const client = new WebSocket(`ws://127.0.0.1:${(listener.address() as AddressInfo).port}`)
  const [[server]] = (await Promise.all([accepted, once(client, 'open')])) as [[WebSocket], unknown]
  t.teardown(() => {
    client.terminate()
    server.terminate()
    listener.close()
  })
  return { server, client }
}
const chunk = Buffer.alloc(64 * 1024, 'x')

t.test('output waits for a client that does not read, and all of it arrives', async (t) => {
  const { server, client } = await pair(t)
  let left = 1_000
  const output = new Readable({
    read() {
      this.push(left-- > 0 ? chunk : null)
    },
  })
  client.pause()
  sendAll(server, output, (bytes) => bytes)
  await eventually('a pause', () => output.isPaused())
  t.ok(left > 0, 'not all of it was read')
  t.ok(server.bufferedAmount < limits.commandOutputBytesMax + 2 * chunk.length)
  let received = 0
  client.on('message', (bytes: Buffer) => (received += bytes.length))
  client.resume()
  await eventually('all of it', () => received === 1_000 * chunk.length)
})

/** Asks again until the number stays. */
const settled = async (count: () => number): Promise<number> => {
  for (let before = -1; before !== count(); ) {
    before = count()
    await sleep(300)
  }
  return count()
}

t.test('what a command has said before it ended reaches a client that reads late', async (t) => {
  const { server, client } = await pair(t)
  let left = 400
  const stdout = new Readable({
    read() {
      this.push(left-- > 0 ? chunk : null)
    },
  })
  const session = { stdout, done: Promise.resolve(0) } as unknown as Session
  let ended = false
  const wire: Wire = {
    peer: server,
    frame: (_name, bytes) => bytes,
    end: () => {
      ended = true
      server.close()
    },
  }
  let received = 0
  client.on('message', (bytes: Buffer) => (received += bytes.length))
  client.pause()
  const wanted = { stdin: false, stdout: true, stderr: false, tty: false }
  const over = runSession(wire, { session }, wanted)
  // Longer than is waited for a command that says nothing.
  await sleep(3_000)
  t.notOk(ended, 'it is not over')
  const closed = once(client, 'close')
  client.resume()
  await over
  await closed
  t.equal(received, 400 * chunk.length)
})

t.test('a command in a container waits for a client that does not read', async (t) => {
  const count = 1_000
  let sent = 0
  let runtimeSide: Duplex | undefined
  const runtime = http.createServer().on('upgrade', (_request, socket: Duplex) => {
    runtimeSide = socket
    socket.write(
      'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\n\r\n',
    )
    const say = async (stdout: SpdyStream) => {
      for (; sent < count; sent++)
        if (!socket.write(stdout.frame(chunk))) await once(socket, 'drain')
      socket.end()
    }
    const connection = new SpdyConnection(
      (bytes) => socket.write(bytes),
      (stream) => {
        const type = stream.headers.get('streamtype')
        if (type === 'error') stream.write(Buffer.from('{"status":"Success"}'))
        if (type === 'stdout') void say(stream)
      },
    )
    socket.on('data', (bytes: Buffer) => void connection.receive(bytes))
    socket.on('error', () => {})
  })
  runtime.listen(0, '127.0.0.1')
  await once(runtime, 'listening')
  t.teardown(() => {
    runtimeSide?.destroy()
    runtime.close()
  })
  const { port } = runtime.address() as AddressInfo
  const url = async () => `http://127.0.0.1:${port}/exec`
  const session = startCriSession(url, { stdin: false, tty: true })
  await eventually('its first words', () => sent > 0)
  const waiting = await settled(() => sent)
  t.ok(waiting < count, `${waiting} of ${count} pieces are on their way`)
  let received = 0
  session.stdout!.on('data', (bytes: Buffer) => (received += bytes.length))
  t.equal(await session.done, 0)
  await eventually('all of it', () => received === count * chunk.length)
})

t.test('a client waits for a process that does not read its input', async (t) => {
  const { server, client } = await pair(t)
  const waiting: (() => void)[] = []
  let taken = 0
  const input = new Writable({
    write(bytes, _encoding, done) {
      taken += bytes.length
      waiting.push(done)
    },
  })
  server.on('message', (bytes: Buffer) => take(server, input, bytes))
  const count = 200
  for (let i = 0; i < count; i++) client.send(chunk)
  await eventually('a pause', () => server.isPaused)
  t.ok(input.writableLength < 2 * limits.commandInputBytesMax)
  const working = setInterval(() => {
    for (const done of waiting.splice(0)) done()
  }, 1)
  await eventually('all of it', () => taken === count * chunk.length)
  clearInterval(working)
  for (let i = 0; i < count; i++) client.send(chunk)
  await eventually('a pause', () => server.isPaused)
  input.destroy()
  await eventually('its end', () => !server.isPaused)
})

/** A frame of SPDY. */
const frameOf = (first: number, payload: Buffer, flags = 0): Buffer => {
  const bytes = Buffer.alloc(8)
  bytes.writeUInt32BE(first)
  bytes.writeUInt32BE(payload.length, 4)
  bytes[4] = flags
  return Buffer.concat([bytes, payload])
}
const idOf = (id: number): Buffer => {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32BE(id)
  return bytes
}
const opening = (id: number, block: Buffer): Buffer =>
  frameOf(0x80030001, Buffer.concat([idOf(id), Buffer.alloc(6), block]))

t.test(
  'a stream of a tunnel is forgotten when both have ended it, or one has given it up',
  async (t) => {
    const sent: Buffer[] = []
    const streams: SpdyStream[] = []
    const server = new SpdyConnection(
      (bytes) => sent.push(bytes),
      (stream) => streams.push(stream),
    )
    const codec = new HeaderCodec()
    t.teardown(() => codec.close())
    const reset: number[] = []
    for (const id of [1, 3, 5, 7]) {
      const block = await codec.encode({ streamtype: 'data' })
      await server.receive(opening(id, block))
      streams.at(-1)!.onReset = () => reset.push(id)
    }
    const [one, three] = streams
    const fin = 1
    await server.receive(frameOf(1, Buffer.alloc(0), fin))
    one!.end()
    three!.end()
    await server.receive(frameOf(3, Buffer.alloc(0), fin))
    await server.receive(frameOf(0x80030003, Buffer.concat([idOf(5), idOf(5)])))
    t.same(reset, [5])
    server.close()
    t.same(reset, [5, 7], 'only what is still open is reset with the tunnel')
  },
)

t.test(
  'headers that inflate to very much, and a stream that is opened twice, are no SPDY',
  async (t) => {
    const connect = () => {
      const streams: SpdyStream[] = []
      const server = new SpdyConnection(
        () => {},
        (stream) => streams.push(stream),
      )
      const codec = new HeaderCodec()
      t.teardown(() => {
        codec.close()
        server.close()
      })
      return { streams, server, codec }
    }
    const blown = connect()
    const deflate = createDeflate()
    deflate.end(Buffer.alloc(200 * 1024 * 1024))
    const block = Buffer.concat(await deflate.toArray())
    await t.rejects(blown.server.receive(opening(1, block)), { message: 'SPDY headers too long' })
    const twice = connect()
    for (const _ of ['first', 'second']) {
      const again = twice.server.receive(
        opening(1, await twice.codec.encode({ streamtype: 'data' })),
      )
      if (twice.streams.length === 0) await again
      else await t.rejects(again, { message: 'SPDY stream opened twice' })
    }
    let isReset = false
    twice.streams[0]!.onReset = () => (isReset = true)
    twice.server.close()
    t.ok(isReset, 'the first ends with its connection')
  },
)
