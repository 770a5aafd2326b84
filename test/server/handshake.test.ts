/** Connections on which nobody speaks TLS. */
import { once } from 'node:events'
import { connect } from 'node:net'
import t from 'tap'
import { startWithLimits } from './start-server.js'

t.test(
  'who begins no handshake is closed when headers would be',
  { timeout: 100_000 },
  async (t) => {
    const server = await startWithLimits(t, { requestHeadersTimeoutMs: 1_000 })
    const socket = connect(Number(new URL(server.url).port), '127.0.0.1').resume()
    t.teardown(() => socket.destroy())
    await once(socket, 'close')
    t.equal(socket.bytesWritten, 0)
  },
)
