/** A watch on a connection whose other end is gone without a word: no byte is ever written that could be lost. */
import { existsSync, readFileSync } from 'node:fs'
import http from 'node:http'
import t from 'tap'
import { createTransport } from '#client/transport.js'
import { listen } from '../listen.js'

const table = '/proc/net/tcp'

/** What the kernel's timer of the client's connection is for: 2 is keepalive. */
const timerOf = (serverPort: number): string | undefined => {
  const remote = `0100007F:${serverPort.toString(16).toUpperCase().padStart(4, '0')}`
  const rows = readFileSync(table, 'utf8')
    .split('\n')
    .map((line) => line.trim().split(/\s+/))
  return rows.find((row) => row[2] === remote)?.[5]?.split(':')[0]
}

t.test(
  'the system asks now and then whether the server is still there',
  { skip: !existsSync(table) && 'there is no table of connections here' },
  async (t) => {
    const server = http.createServer((_, answer) => void answer.writeHead(200).flushHeaders())
    const port = await listen(t, server)
    const transport = createTransport({ server: `http://127.0.0.1:${port}`, namespace: 'default' })
    t.teardown(() => transport.close())
    const watch = await transport.send({ method: 'GET', path: '/', longRunning: true })
    t.equal(timerOf(port), '02')
    watch.destroy()
  },
)
