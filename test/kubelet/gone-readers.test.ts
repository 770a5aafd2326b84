/** Who leaves a kubelet's server early holds nothing there: what says so may have happened before anybody listens. */
import { once } from 'node:events'
import http from 'node:http'
import https from 'node:https'
import { connect } from 'node:net'
import { PassThrough } from 'node:stream'
import { mock } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { systemClock } from '#api/clock.js'
import { createClient } from '#client/client.js'
import type { Kubelet } from '#kubelet/kubelet.js'
import type { Pod } from '#kubelet/pod.js'
import { startKubeletServer } from '#kubelet/server/kubelet-server.js'
import { serveLogs } from '#kubelet/server/serve-logs.js'
import { servePortForward } from '#kubelet/server/serve-port-forward.js'
import { serveSession } from '#kubelet/server/serve-session.js'
import { SpdyConnection } from '#kubelet/server/spdy.js'
import { StatusWriter } from '#kubelet/status/status-writer.js'
import { limits } from '#limits'
import { listen } from '../listen.js'

const pod = {
  metadata: { name: 'p', namespace: 'n', uid: 'u' },
  spec: { containers: [{ name: 'c' }] },
} as unknown as Pod
const status = {
  containerStatuses: [
    { name: 'c', containerID: 'process://i', state: { running: {} }, lastState: {} },
  ],
}
const container = { id: 'i', name: 'c', state: 'running' }

const kubeletWith = (runtime: object): Kubelet =>
  ({
    pods: [pod],
    statusOf: () => status,
    runtime: { containersOf: () => [container], ...runtime },
  }) as unknown as Kubelet

const pathOf = (kind: string) => ({
  kind,
  namespace: 'n',
  pod: 'p',
  container: 'c',
  query: new URLSearchParams('follow=true&command=x'),
})

t.test('a log whose next piece comes when its reader has left is let go of', async (t) => {
  const left = new AbortController()
  async function* logs() {
    yield Buffer.from('one')
    await once(left.signal, 'abort')
    yield Buffer.alloc(1024 * 1024)
  }
  const kubelet = kubeletWith({ logs })
  let served: Promise<void> | undefined
  const server = http.createServer((request, response) => {
    response.once('close', () => setImmediate(() => left.abort()))
    served = serveLogs({ kubelet, clock: systemClock, path: pathOf('logs'), request, response })
  })
  const port = await listen(t, server)
  const request = http.get({ port, host: '127.0.0.1', agent: false })
  const [answer] = await once(request, 'response')
  await once(answer, 'data')
  request.destroy()
  await served
  t.ok(left.signal.aborted)
})

t.test('no log is read for who has left while it was asked who that is', async (t) => {
  let open = 0
  async function* logs() {
    open++
    try {
      yield Buffer.from('one')
    } finally {
      open--
    }
  }
  const reviewed = new AbortController()
  const asked = new AbortController()
  const create = async () => {
    asked.abort()
    if (!reviewed.signal.aborted) await once(reviewed.signal, 'abort')
    return { status: { authenticated: true, user: { username: 'u' }, allowed: true } }
  }
  const { port, close } = await startKubeletServer({
    kubelet: kubeletWith({ logs }),
    clock: systemClock,
    log: {} as never,
    address: '127.0.0.1',
    port: 0,
    client: { config: {}, create } as never,
  })
  t.teardown(close)
  const request = https.get({
    port,
    host: '127.0.0.1',
    path: '/containerLogs/n/p/c',
    headers: { authorization: 'Bearer t' },
    rejectUnauthorized: false,
  })
  request.on('error', () => {})
  await once(asked.signal, 'abort')
  request.destroy()
  await sleep(200)
  reviewed.abort()
  await sleep(200)
  t.equal(open, 0)
})

t.test('a session whose client gets no WebSocket is ended', async (t) => {
  const ended = new AbortController()
  const done = once(ended.signal, 'abort').then(() => 137)
  const exec = () => ({ done, kill: () => ended.abort(), resize: () => {} })
  const server = http.createServer()
  server.on('upgrade', (request, socket, head) =>
    serveSession({
      kubelet: kubeletWith({ exec }),
      path: pathOf('exec'),
      request,
      socket: socket as never,
      head,
    }),
  )
  const port = await listen(t, server)
  const socket = connect(port, '127.0.0.1')
  t.teardown(() => socket.destroy())
  // A WebSocket without its key.
  socket.write('GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n')
  socket.resume()
  t.equal(await done, 137)
})

t.test('nobody waits for the status of a Pod that was forgotten first', async (t) => {
  const client = createClient({ server: 'http://127.0.0.1:9', namespace: '' }, 'test')
  t.teardown(() => client.close())
  const writer = new StatusWriter(client, {} as never)
  writer.set(pod, { phase: 'Running' }, false)
  writer.forget('u')
  await writer.flush()
})

t.test('a stream of port forwarding whose other one does not come is given up', async (t) => {
  const kubelet = kubeletWith({
    sandboxesOf: () => [{ ready: true }],
    connect: () => new PassThrough(),
  })
  const path = pathOf('portForward')
  const server = http.createServer().on('upgrade', (request, socket, head) => {
    servePortForward({ kubelet, path, request, socket: socket as never, head })
  })
  const port = await listen(t, server)
  const headers = {
    connection: 'Upgrade',
    upgrade: 'SPDY/3.1',
    'x-stream-protocol-version': 'portforward.k8s.io',
  }
  const [, socket] = await once(http.get({ port, host: '127.0.0.1', headers }), 'upgrade')
  const client = new SpdyConnection((bytes) => socket.write(bytes))
  socket.on('data', (bytes: Buffer) => void client.receive(bytes))
  t.teardown(() => {
    socket.destroy()
    client.close()
  })
  mock.timers.enable({ apis: ['setTimeout'] })
  t.teardown(() => mock.timers.reset())
  const given: string[] = []
  const open = async (streamtype: string, requestid: string) => {
    const stream = await client.open({ streamtype, requestid, port: '80' })
    stream.onReset = () => given.push(`${streamtype} of ${requestid}`)
    return stream
  }
  await open('error', '1')
  await open('error', '2')
  const data = await open('data', '2')
  /** What came before it has come, too. */
  const echo = async () => {
    const said = new Promise((resolve) => (data.onData = resolve))
    data.write(Buffer.from('x'))
    await said
  }
  await echo()
  mock.timers.tick(limits.spdyStreamsWaitMsMax)
  await echo()
  t.same(given, ['error of 1'])
})
