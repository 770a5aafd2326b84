import http2, { type ServerHttp2Session } from 'node:http2'
import t from 'tap'
import { askGrpc } from '#kubelet/probes/grpc-probe.js'
import { eventually } from '../eventually.js'
import { listen } from '../listen.js'

t.test('a probe that is not answered in time leaves no connection behind', async (t) => {
  const silent = http2.createServer()
  const open = new Set<ServerHttp2Session>()
  silent.on('session', (session) => {
    open.add(session)
    session.on('close', () => open.delete(session))
  })
  let late: AbortController | undefined
  // The question has come; its answer never does.
  silent.on('stream', () => late?.abort())
  const port = await listen(t, silent)
  t.teardown(() => {
    for (const session of open) session.destroy()
  })
  const question = { host: '127.0.0.1', port, service: '', userAgent: 'test', timeoutSeconds: 1 }
  for (let i = 0; i < 3; i++) {
    late = new AbortController()
    const message = 'timeout: health rpc did not complete within 1s'
    t.match(await askGrpc(question, late.signal), { ok: false, message })
  }
  await eventually('the connections to end', () => open.size === 0)
})
