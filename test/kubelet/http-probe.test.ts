/** Where probes and hooks go that a container's server sends elsewhere. */
import http from 'node:http'
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
  const spec = { name: 'c', livenessProbe: { httpGet: to(elsewhere) } } as ContainerSpec
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
