/** Processes go by the clock of their server. */
import { createServer as createHttpServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import t from 'tap'
import { systemClock } from '#api/clock.js'
import { clockMovesPath } from '#api/movable-clock.js'
import { createClient } from '#client/client.js'
import { followClock } from '#client/follow-clock.js'
import { parseKubeconfig } from '#client/kubeconfig.js'
import { silentLog } from '#client/log.js'
import { createServer } from '../create-server.js'
import { eventually } from '../eventually.js'
import { freePort } from '../free-port.js'

const hour = 3_600_000
const aheadOf = (clock: { now(): number }) => clock.now() - systemClock.now()

t.test('a process is as far ahead as its server, also as one that was started again', async (t) => {
  const port = await freePort()
  const certDir = t.testdir()
  const start = () => createServer({ port, certDir })
  let server = await start()
  const client = createClient(await parseKubeconfig(server.kubeconfig), 'test')
  const stop = new AbortController()
  server.clock.advance('1h')
  const clock = followClock({ client, log: silentLog, signal: stop.signal })
  t.teardown(async () => {
    stop.abort()
    client.close()
    await server.close()
  })
  const moves: number[] = []
  clock.onMove!((byMs) => moves.push(byMs))
  await eventually('it has been told', () => aheadOf(clock) >= hour)
  server.clock.advance(2 * hour)
  await eventually('it has moved', () => aheadOf(clock) >= 3 * hour)
  await server.close()
  server = await start()
  await eventually('a new server is not ahead', () => aheadOf(clock) < hour)
  t.same(moves, [hour, 2 * hour, -3 * hour])
})

t.test('a server that has no clock of its own is asked once', async (t) => {
  const paths: (string | undefined)[] = []
  const other = createHttpServer((request, response) => {
    paths.push(request.url)
    response.writeHead(404).end('404 page not found\n')
  })
  await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve))
  const { port } = other.address() as AddressInfo
  const client = createClient({ server: `http://127.0.0.1:${port}`, namespace: 'default' }, 'test')
  const stop = new AbortController()
  t.teardown(() => {
    stop.abort()
    client.close()
    other.close()
  })
  const clock = followClock({ client, log: silentLog, signal: stop.signal })
  await eventually('it is asked', () => paths.length > 0)
  // It would ask again after a second.
  await new Promise((resolve) => setTimeout(resolve, 2_500))
  t.same(paths, [clockMovesPath])
  t.ok(Math.abs(aheadOf(clock)) < hour)
})

t.test('a server that does not answer is told of once, until it has answered', async (t) => {
  const port = await freePort()
  const certDir = t.testdir()
  const start = () => createServer({ port, certDir })
  let server = await start()
  const client = createClient(await parseKubeconfig(server.kubeconfig), 'test')
  await server.close()
  const stop = new AbortController()
  t.teardown(async () => {
    stop.abort()
    client.close()
    await server.close()
  })
  const warnings: (string | undefined)[] = []
  let debugged = 0
  const log = {
    ...silentLog,
    warn: ({ error }: { error?: string }) => void warnings.push(error),
    debug: () => debugged++,
  }
  const clock = followClock({ client, log, signal: stop.signal })
  await eventually('it was tried three times', () => debugged >= 2)
  t.equal(warnings.length, 1)
  t.match(warnings[0], /ECONNREFUSED/)
  server = await start()
  server.clock.advance('1h')
  await eventually('it answers', () => aheadOf(clock) >= hour)
  await server.close()
  await eventually('it is told of again', () => warnings.length === 2)
})
