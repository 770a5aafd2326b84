/** Processes go by the clock of their server. */
import { createServer as createHttpServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import t, { type Test } from 'tap'
import { systemClock } from '#api/clock.js'
import { clockMovesPath } from '#api/movable-clock.js'
import { createClient } from '#client/client.js'
import { followClock } from '#client/follow-clock.js'
import { parseKubeconfig } from '#client/kubeconfig.js'
import { silentLog } from '#client/log.js'
import type { Server } from '#src/index.js'
import { createServer } from '../create-server.js'
import { eventually } from '../eventually.js'
import { freePort } from '../free-port.js'

const hour = 3_600_000
const aheadOf = (clock: { now(): number }) => clock.now() - systemClock.now()

/** A server that can be closed and started again in the same place, and who goes on asking it. */
const startedAgain = async (t: Test) => {
  const port = await freePort()
  const certDir = t.testdir()
  let server: Server
  const start = async (): Promise<void> => {
    server = await createServer({ port, certDir })
  }
  await start()
  const client = createClient(await parseKubeconfig(server!.kubeconfig), 'test')
  const stop = new AbortController()
  t.teardown(async () => {
    stop.abort()
    client.close()
    await server.close()
  })
  return { asked: () => server, start, asking: { client, signal: stop.signal } }
}

t.test('a process is as far ahead as its server, also as one that was started again', async (t) => {
  const { asked, start, asking } = await startedAgain(t)
  asked().clock.advance('1h')
  const clock = followClock({ ...asking, log: silentLog })
  const moves: number[] = []
  clock.onMove!((byMs) => moves.push(byMs))
  await eventually('it has been told', () => aheadOf(clock) >= hour)
  asked().clock.advance(2 * hour)
  await eventually('it has moved', () => aheadOf(clock) >= 3 * hour)
  await asked().close()
  await start()
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
  const { asked, start, asking } = await startedAgain(t)
  await asked().close()
  const warnings: (string | undefined)[] = []
  let debugged = 0
  const log = {
    ...silentLog,
    warn: ({ error }: { error?: string }) => void warnings.push(error),
    debug: () => debugged++,
  }
  const clock = followClock({ ...asking, log })
  await eventually('it was tried three times', () => debugged >= 2)
  t.equal(warnings.length, 1)
  t.match(warnings[0], /ECONNREFUSED/)
  await start()
  asked().clock.advance('1h')
  await eventually('it answers', () => aheadOf(clock) >= hour)
  await asked().close()
  await eventually('it is told of again', () => warnings.length === 2)
})
