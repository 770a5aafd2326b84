/** Clients that do not read their answers. */
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import http2 from 'node:http2'
import https from 'node:https'
import type { Readable } from 'node:stream'
import t from 'tap'
import type { Server } from '#src/index.js'
import { eventually } from '../eventually.js'
import { call, startServer } from './start-server.js'

const configMaps = '/api/v1/namespaces/default/configmaps'

interface Begun {
  readonly status: number
  readonly body: Readable
}

type Open = (server: Server, path: string) => Promise<Begun>

const overHttp1 =
  (more: Record<string, string>): Open =>
  async (server, path) => {
    const headers = { authorization: `Bearer ${server.adminToken}`, ...more }
    const request = https.get(`${server.url}${path}`, { ca: server.caPem, agent: false, headers })
    const [response] = await once(request, 'response')
    return { status: response.statusCode, body: response }
  }

const overHttp2: Open = async (server, path) => {
  const session = http2.connect(server.url, { ca: server.caPem })
  const authorization = `Bearer ${server.adminToken}`
  const stream = session.request({ ':path': path, authorization })
  stream.once('close', () => session.destroy())
  const [headers] = await once(stream, 'response')
  return { status: headers[':status'], body: stream }
}

const ways: Readonly<Record<string, Open>> = {
  'HTTP/1.1': overHttp1({}),
  gzip: overHttp1({ 'accept-encoding': 'gzip' }),
  'HTTP/2': overHttp2,
}

/** How many requests hold a seat, this one included. */
const executing = async (server: Server): Promise<string | undefined> => {
  const { text } = await call(server, { path: '/metrics' })
  const metric = /current_executing_requests\{[^}]*priority_level="exempt"[^}]*\} (\d+)/
  return metric.exec(text)?.[1]
}

t.test('an answer that its client does not read is cut off at its deadline', async (t) => {
  const server = await startServer(t)
  for (let i = 0; i < 20; i++) {
    const binaryData = { a: randomBytes(600_000).toString('base64') }
    const made = {
      method: 'POST',
      path: configMaps,
      body: { metadata: { name: `a${i}` }, binaryData },
    }
    t.equal((await call(server, made)).status, 201)
  }
  for (const [way, open] of Object.entries(ways)) {
    let begun: Begun
    // A machine that stands still has its answer too late to begin.
    for (let seconds = 2; ; seconds *= 2) {
      begun = await open(server, `${configMaps}?timeout=${seconds}s`)
      if (begun.status === 200) break
      begun.body.destroy()
    }
    const { body } = begun
    body.on('error', () => {})
    let ended = false
    body.once('end', () => {
      ended = true
    })
    const closed = new Promise((resolve) => body.once('close', resolve))
    await eventually(`the end of ${way}`, async () => (await executing(server)) === '1')
    body.resume()
    await closed
    t.equal(ended, false, way)
  }
})
