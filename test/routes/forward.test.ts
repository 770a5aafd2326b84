/** Connections to what requests are forwarded to. */
import http from 'node:http'
import type { FastifyReply, FastifyRequest } from 'fastify'
import t from 'tap'
import { sleep } from '#async/sleep.js'
import { forward } from '#routes/forward.js'
import { collectGarbage } from '../collect-garbage.js'
import { eventually } from '../eventually.js'
import { listen } from '../listen.js'

const incoming = (): FastifyRequest => {
  const raw = { headers: {}, socket: {} }
  const kube = { signal: new AbortController().signal, whenOver() {} }
  return { method: 'GET', headers: {}, bodyType: '', raw, kube } as unknown as FastifyRequest
}
const reply = {} as FastifyReply

t.test('an answer that nobody reads holds no connection', async (t) => {
  const behind = http.createServer((_, answer) => {
    answer.writeHead(302, { location: 'http://elsewhere.example.com/' }).end('moved')
  })
  let open = 0
  behind.on('connection', (socket) => {
    open++
    socket.on('close', () => open--)
  })
  const url = new URL(`http://127.0.0.1:${await listen(t, behind)}`)
  const agent = new http.Agent({ keepAlive: true })
  t.teardown(() => agent.destroy())
  for (let i = 0; i < 10; i++) {
    const refuse = () => Promise.resolve(new Error('no'))
    await t.rejects(forward({ url, agent: agent as never }, incoming(), reply, { refuse }), 'no')
  }
  await eventually('connections to end', () => open <= 1)
})

t.test('the time for a whole answer ends, whatever is collected meanwhile', async (t) => {
  const url = new URL(`http://127.0.0.1:${await listen(t, http.createServer())}`)
  let isOver = false
  const asked = forward({ url }, incoming(), reply, { timeoutMs: 200 }).catch((error: Error) => {
    isOver = true
    return error.message
  })
  for (let i = 0; i < 5; i++) {
    await sleep(20)
    collectGarbage()
  }
  await eventually('the end of its time', () => isOver)
  t.match(await asked, /context deadline exceeded$/)
})
