import http, { type ClientRequest } from 'node:http'
import https from 'node:https'
import net from 'node:net'
import t from 'tap'
import { boundDial } from '#net/bound-dial.js'
import { listen } from '../listen.js'

const long = 3_600_000

const outcome = (request: ClientRequest): Promise<string> =>
  new Promise((resolve) => {
    request.on('response', () => resolve('answered'))
    request.on('error', (error) => resolve(error.message))
    request.end()
  })

t.test('what cannot be connected to is given up', async (t) => {
  const request = http.request({ host: 'gone', agent: false, lookup: () => {} })
  boundDial(request, 'gone:80', { connectMs: 1, handshakeMs: long })
  t.equal(await outcome(request), 'dial tcp gone:80: i/o timeout')
})

t.test('so is what is silent where a handshake should be', async (t) => {
  const port = await listen(t, net.createServer())
  const request = https.request({ port, host: '127.0.0.1', agent: false })
  boundDial(request, '', { connectMs: long, handshakeMs: 1 })
  t.equal(await outcome(request), 'net/http: TLS handshake timeout')
})

t.test('an answer may take longer than a connection, also the next one on it', async (t) => {
  const slow = http.createServer((_, answer) => void setTimeout(() => answer.end('x'), 50))
  const port = await listen(t, slow)
  const agent = new http.Agent({ keepAlive: true })
  t.teardown(() => agent.destroy())
  const before = process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length
  for (let i = 0; i < 2; i++) {
    const request = http.request({ port, host: '127.0.0.1', agent })
    boundDial(request, '', { connectMs: 30_000, handshakeMs: 1 })
    request.on('response', (answer) => answer.resume())
    t.equal(await outcome(request), 'answered')
  }
  const timers = process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length
  t.ok(timers <= before + 1, 'none waits for what is over')
})
