/** A watch on a connection whose other end is gone without a word: no byte is ever written that could be lost. */
import http from 'node:http'
import t from 'tap'
import { createTransport } from '#client/transport.js'
import { eventually } from '../eventually.js'
import { isAskedFor, withTable } from '../kernel-timers.js'
import { listen } from '../listen.js'

t.test('the system asks now and then whether the server is still there', withTable, async (t) => {
  const server = http.createServer((_, answer) => void answer.writeHead(200).flushHeaders())
  const port = await listen(t, server)
  const transport = createTransport({ server: `http://127.0.0.1:${port}`, namespace: 'default' })
  t.teardown(() => transport.close())
  const watch = await transport.send({ method: 'GET', path: '/', longRunning: true })
  await eventually('the server to be asked for', () => isAskedFor({ other: port }))
  watch.destroy()
})
