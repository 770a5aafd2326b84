/** What ends HTTP on a connection, sent right behind a request whose answer is long: kube-apiserver answers one after the other. */
import { once } from 'node:events'
import tls from 'node:tls'
import t from 'tap'
import { eventually } from '../eventually.js'
import { call, startServer } from './start-server.js'

const server = await startServer(t)
const configMaps = '/api/v1/namespaces/default/configmaps'
for (let i = 0; i < 4; i++)
  await call(server, {
    method: 'POST',
    path: configMaps,
    body: { metadata: { name: `large-${i}` }, data: { text: 'x'.repeat(900_000) } },
  })
const { hostname: host, port } = new URL(server.url)
const common = `Host: x\r\nAuthorization: Bearer ${server.adminToken}\r\n`
const webSocket = 'Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n'
const key = 'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n'
const watch = (origin: string) =>
  `GET ${configMaps}?watch=1&resourceVersion=0 HTTP/1.1\r\n${common}${webSocket}${key}${origin}\r\n`

/** Asks, and yields what has come once something of the last answer has. */
const answersTo = async (asked: string, last: RegExp): Promise<string> => {
  const socket = tls.connect({ host, port: Number(port), ca: server.caPem })
  t.teardown(() => socket.destroy())
  await once(socket, 'secureConnect')
  let said = ''
  socket.setEncoding('latin1').on('data', (text: string) => (said += text))
  socket.write(asked)
  // The answer does not fit into the buffers between: it has to be written on when there is room again.
  socket.pause()
  await call(server, { path: `${configMaps}/large-0` })
  socket.resume()
  await eventually('the last answer', () => last.test(said.slice(-4_000_000)))
  return said
}
const codesOf = (said: string) => said.match(/(?<=HTTP\/1\.1 )\d+/g)
const lists = `GET ${configMaps} HTTP/1.1\r\n${common}\r\n`.repeat(2)

const endings: Record<string, { sent: string; code: string }> = {
  'an upgrade': { sent: watch('Origin: http://example.com\r\n'), code: '101' },
  'an upgrade that is refused': { sent: watch(''), code: '403' },
  CONNECT: { sent: `CONNECT x:443 HTTP/1.1\r\n${common}\r\n`, code: '405' },
  'what is no request': { sent: 'GET / HTTP/1.1\r\nno header\r\n\r\n', code: '400' },
}
for (const [what, { sent, code }] of Object.entries(endings))
  t.test(`${what} is answered behind what was asked before it`, async (t) => {
    const said = await answersTo(lists + sent, new RegExp(`HTTP/1\\.1 ${code} `))
    t.same(codesOf(said), ['200', '200', code])
    const before = said.slice(0, said.lastIndexOf('HTTP/1.1 '))
    t.equal(before.match(/"name":"large-/g)?.length, 8, 'and that whole')
  })

t.test('a body that cannot be read is the end of its own request', async (t) => {
  const head = `POST ${configMaps} HTTP/1.1\r\n${common}Transfer-Encoding: chunked\r\n\r\n`
  const said = await answersTo(`${lists}${head}no length\r\n`, /HTTP\/1\.1 400 /)
  t.same(codesOf(said), ['200', '200', '400'])
})
