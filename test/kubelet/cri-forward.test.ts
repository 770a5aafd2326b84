/** How runtimes end a connection to a port of a Pod: they differ in that. */
import { once } from 'node:events'
import http from 'node:http'
import t, { type Test } from 'tap'
import { connectThroughCri } from '#kubelet/runtime/cri/cri-forward.js'
import { ForwardError } from '#kubelet/runtime.js'
import { SpdyConnection, type SpdyStream } from '#kubelet/server/spdy.js'
import { eventually } from '../eventually.js'
import { listen } from '../listen.js'

/** A control frame that gives a stream up. */
const resetFrame = ({ id }: SpdyStream): Buffer => {
  const frame = Buffer.from('800300030000000800000000' + '00000005', 'hex')
  frame.writeUInt32BE(id, 8)
  return frame
}

interface Runtime {
  readonly data: SpdyStream
  readonly error: SpdyStream
  giveUp(stream: SpdyStream): void
}

/** A runtime that has just got both streams, and the client's side. */
const forward = async (t: Test) => {
  const server = http.createServer()
  const streams = new Map<string, SpdyStream>()
  let giveUp: Runtime['giveUp'] = () => {}
  server.on('upgrade', (_, socket, head) => {
    socket.write(
      'HTTP/1.1 101 Switching Protocols\r\nconnection: Upgrade\r\nupgrade: SPDY/3.1\r\n\r\n',
    )
    const connection = new SpdyConnection(
      (bytes) => void socket.write(bytes),
      (stream) => streams.set(stream.headers.get('streamtype')!, stream),
    )
    giveUp = (stream) => void socket.write(resetFrame(stream))
    t.teardown(() => socket.destroy())
    socket.on('error', () => {})
    socket.on('data', (bytes) => void connection.receive(bytes))
    void connection.receive(head)
  })
  const port = await listen(t, server)
  const client = connectThroughCri(async () => `http://127.0.0.1:${port}`, 80)
  t.teardown(() => client.destroy())
  await eventually('both streams', () => streams.size === 2)
  const runtime: Runtime = { data: streams.get('data')!, error: streams.get('error')!, giveUp }
  return { runtime, client }
}

const endings: Record<string, (runtime: Runtime) => void> = {
  'ends both streams': ({ data, error }) => {
    data.end()
    error.end()
  },
  'ends them the other way round': ({ data, error }) => {
    error.end()
    data.end()
  },
  'gives one up (containerd 2)': ({ data, error, giveUp }) => {
    data.end()
    giveUp(error)
  },
  'gives up both': ({ data, error, giveUp }) => {
    giveUp(data)
    giveUp(error)
  },
  'gives up what it has ended': ({ data, error, giveUp }) => {
    data.end()
    giveUp(data)
    giveUp(error)
  },
}

for (const [name, end] of Object.entries(endings))
  t.test(`the error is told of a runtime that ${name}`, async (t) => {
    const { runtime, client } = await forward(t)
    const failed = once(client, 'error')
    runtime.error.write(Buffer.from('connection refused'))
    end(runtime)
    const [error] = await failed
    t.ok(error instanceof ForwardError)
    t.equal(error.message, 'connection refused')
  })

t.test(
  'data that is given up ends the connection, and what is ended ends it in order',
  async (t) => {
    const whole = await forward(t)
    whole.client.resume()
    const ended = once(whole.client, 'end')
    endings['ends both streams']!(whole.runtime)
    await ended
    const broken = await forward(t)
    let isEnded = false
    broken.client.on('end', () => {
      isEnded = true
    })
    const closed = once(broken.client.resume(), 'close')
    endings['gives up both']!(broken.runtime)
    await closed
    t.notOk(isEnded)
  },
)
