/** Where probes and hooks go that a container's server sends elsewhere. */
import http from 'node:http'
import net, { type AddressInfo } from 'node:net'
import t from 'tap'
import { systemClock } from '#api/clock.js'
import type { ContainerSpec } from '#kubelet/pod.js'
import { Prober } from '#kubelet/probes/prober.js'
import { type HandlerTarget, runHook, runProbe } from '#kubelet/probes/run-handler.js'
import type { Container } from '#kubelet/runtime.js'
import { listen } from '../listen.js'

const asked: string[] = []
const server = http.createServer((request, response) => {
  const { pathname, searchParams } = new URL(request.url!, 'http://a')
  asked.push(pathname)
  if (pathname === '/to') response.writeHead(302, { location: searchParams.get('place')! }).end('x')
  else response.writeHead(pathname === '/good' ? 200 : 500).end()
})
const port = await listen(t, server)
const target = { podIp: '127.0.0.1', container: { name: 'c' } } as HandlerTarget
const { signal } = new AbortController()
const to = (place: string) => ({ path: `/to?place=${encodeURIComponent(place)}`, port })
const probe = (place: string) => runProbe(target, { httpGet: to(place) }, signal)
const elsewhere = 'http://0.0.0.0/'
const warning = 'Probe terminated redirects, Response body: x'

t.test('a redirect on the same host counts for what is there', async (t) => {
  t.same(await probe('/good'), { ok: true })
  t.same(await probe('bad'), { ok: false, message: 'HTTP probe failed with statuscode: 500' })
  t.same(await probe(`http://127.0.0.1:${port}/to?place=good`), { ok: true })
  asked.length = 0
  t.same(await runHook(target, { httpGet: to('/good') }, signal), { ok: true })
  t.same(asked, ['/to', '/good'])
})

t.test('a redirect to what is no URL has failed', async (t) => {
  const message = `Get "http://127.0.0.1:${port}/to?place=http%3A%2F%2F%5B": failed to parse Location header "http://[": parse "http://[": missing ']' in host`
  t.same(await probe('http://['), { ok: false, message })
})

t.test('a server that speaks another protocol, unasked, holds up nobody', async (t) => {
  const odd = net.createServer((socket) => {
    socket.on('error', () => {})
    socket.once('data', (asked) => {
      socket.write(
        'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: odd\r\n\r\nodd',
      )
      if (asked.includes('/ends')) socket.end()
    })
  })
  const ask = async (run: typeof runHook, path: string) => {
    const { get } = http
    const ended = new AbortController()
    // What goes on is left when it has begun.
    const asked = t.capture(http, 'get', (...given: Parameters<typeof get>) =>
      get(...given).once('upgrade', () => path === '/goes-on' && setImmediate(() => ended.abort())),
    )
    const outcome = run(target, { httpGet: { path, port: oddPort } }, ended.signal)
    asked.restore()
    return outcome
  }
  const oddPort = await new Promise<number>((resolve) => {
    odd.listen(0, '127.0.0.1', () => resolve((odd.address() as AddressInfo).port))
  })
  t.teardown(() => odd.close())
  t.same(await ask(runProbe, '/ends'), {
    ok: false,
    message: 'HTTP probe failed with statuscode: 101',
  })
  t.same(await ask(runHook, '/ends'), { ok: true })
  t.match(await ask(runProbe, '/goes-on'), { ok: false, unknown: true })
  t.match(await ask(runHook, '/goes-on'), { ok: true })
})

t.test(
  'a header that is given twice is sent twice, and may have the name of anything',
  async (t) => {
    const heard = new Promise<string[]>((resolve) => {
      server.once('request', ({ rawHeaders }: http.IncomingMessage) => resolve(rawHeaders))
    })
    const httpHeaders = ['a', 'b'].map((value) => ({ name: 'Constructor', value }))
    await runProbe(target, { httpGet: { path: '/good', port, httpHeaders } }, signal)
    const sent = await heard
    const values = sent.filter((_, i) => i % 2 === 1 && /^constructor$/i.test(sent[i - 1]!))
    t.same(values, ['a', 'b'])
  },
)

t.test('a redirect that leads to itself ends after ten requests', async (t) => {
  const round = http.createServer((_, response) =>
    response.writeHead(307, { location: '/again' }).end(),
  )
  let requests = 0
  round.on('request', () => requests++)
  const at = { port: await listen(t, round), path: '/' }
  t.same(await runProbe(target, { httpGet: at }, signal), {
    ok: false,
    message: 'Get "/again": stopped after 10 redirects',
  })
  t.equal(requests, 10)
})

t.test('a redirect to another host is not followed, and reported', async (t) => {
  t.same(await probe(elsewhere), { ok: true, warning })
  const livenessProbe = { httpGet: to(elsewhere), timeoutSeconds: 60 }
  const spec = { name: 'c', livenessProbe } as ContainerSpec
  const container = { id: 'c-1', startedAt: 0 } as Container
  const told = await new Promise<string>((resolve) => {
    const prober = new Prober({
      clock: systemClock,
      target: () => target,
      was: () => ({ started: true, ready: true }),
      onUnhealthy: () => t.fail('it is well'),
      onWarning: (_, message) => {
        prober.stop()
        resolve(message)
      },
      onChange: () => {},
    })
    prober.follow([[container, spec]])
  })
  t.equal(told, `Liveness probe warning: ${warning}`)
})
