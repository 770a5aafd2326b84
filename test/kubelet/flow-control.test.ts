/** What the kubelet's server holds of its clients' streams: little, and nothing of those that are over. */
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { Readable, Writable } from 'node:stream'
import t, { type Test } from 'tap'
import { WebSocket, WebSocketServer } from 'ws'
import { sendAll, take } from '#kubelet/server/flow-control.js'
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
    const head = (first: number, payload: Buffer, flags = 0): Buffer => {
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
    const reset: number[] = []
    for (const id of [1, 3, 5, 7]) {
      const block = await codec.encode({ streamtype: 'data' })
      await server.receive(head(0x80030001, Buffer.concat([idOf(id), Buffer.alloc(6), block])))
      streams.at(-1)!.onReset = () => reset.push(id)
    }
    const [one, three] = streams
    const fin = 1
    await server.receive(head(1, Buffer.alloc(0), fin))
    one!.end()
    three!.end()
    await server.receive(head(3, Buffer.alloc(0), fin))
    await server.receive(head(0x80030003, Buffer.concat([idOf(5), idOf(5)])))
    t.same(reset, [5])
    server.close()
    t.same(reset, [5, 7], 'only what is still open is reset with the tunnel')
  },
)
