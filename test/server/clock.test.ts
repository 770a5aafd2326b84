/** The cluster's clock, which tests move on (docs/your-operators-tests.md). */
import { rmSync } from 'node:fs'
import https from 'node:https'
import t from 'tap'
import { systemClock } from '#api/clock.js'
import { clockMovesPath, clockPath } from '#api/movable-clock.js'
import { limits } from '#limits'
import type { Server } from '#src/index.js'
import { runCommand } from '../commands/run-command.js'
import { eventually } from '../eventually.js'
import { call, startServer } from './start-server.js'

// Timers of stores keep no process alive.
const alive = setInterval(() => {}, 1_000)
t.teardown(() => clearInterval(alive))

const advance = (server: Server, by: unknown) =>
  call(server, { method: 'POST', path: clockPath, body: { advance: by } })

t.test('what is created after a move is that much younger', async (t) => {
  const server = await startServer(t)
  const make = async (name: string) => {
    const path = '/api/v1/namespaces/default/configmaps'
    const { body } = await call(server, { method: 'POST', path, body: { metadata: { name } } })
    return Date.parse(body.metadata.creationTimestamp)
  }
  const before = await make('a')
  const moved = await advance(server, '1h30m')
  t.equal(moved.status, 200)
  t.match(moved.body, { ahead: '1h30m0s', aheadMs: 5_400_000 })
  t.match((await call(server, { path: clockPath })).body, { aheadMs: 5_400_000 })
  t.ok((await make('b')) - before >= 5_400_000)
  t.equal(server.clock.aheadMs, 5_400_000)
  server.clock.advance(1_000.5)
  t.equal(server.clock.aheadMs, 5_401_000)
  t.ok(server.clock.now() - systemClock.now() >= 5_400_000)
})

t.test('lifetimes end: of Events and of tokens', async (t) => {
  const server = await startServer(t)
  const events = '/api/v1/namespaces/default/events'
  const involvedObject = { kind: 'Pod', namespace: 'default', name: 'p' }
  const made = await call(server, {
    method: 'POST',
    path: events,
    body: { metadata: { name: 'e' }, involvedObject },
  })
  t.equal(made.status, 201)
  const account = '/api/v1/namespaces/default/serviceaccounts/default'
  await eventually('the account', async () => {
    const { status } = await call(server, { path: account })
    if (status === 200) return true
    const path = '/api/v1/namespaces/default/serviceaccounts'
    return (
      (await call(server, { method: 'POST', path, body: { metadata: { name: 'default' } } }))
        .status === 201
    )
  })
  const { body } = await call(server, {
    method: 'POST',
    path: `${account}/token`,
    body: { spec: { expirationSeconds: 7_200 } },
  })
  const { token } = body.status
  const review = '/apis/authentication.k8s.io/v1/tokenreviews'
  const holds = async () => {
    const { body } = await call(server, { method: 'POST', path: review, body: { spec: { token } } })
    return body.status.authenticated === true
  }
  t.ok(await holds())
  await advance(server, '1h1m')
  await eventually(
    'the Event is gone',
    async () => (await call(server, { path: `${events}/e` })).status === 404,
  )
  t.ok(await holds(), 'the token has an hour more')
  await advance(server, '1h')
  t.notOk(await holds())
})

t.test(
  'history grows old: a watch that wants to go on from before the move gets a 410',
  async (t) => {
    const server = await startServer(t)
    const maps = '/api/v1/namespaces/default/configmaps'
    const { body } = await call(server, { path: maps })
    const path = `${maps}?watch=true&timeoutSeconds=1&resourceVersion=${body.metadata.resourceVersion}`
    const watch = async () => (await call(server, { path })).text
    // Something has to be lost before a watch can miss it.
    await call(server, { method: 'POST', path: maps, body: { metadata: { name: 'a' } } })
    // Its one second may be over before a slow machine tells of anything.
    await eventually('it is told', async () => (await watch()).includes('"type":"ADDED"'))
    await advance(server, '1h')
    await eventually('its history is gone', async () => (await watch()).includes('"code":410'))
  },
)

t.test('a move that cannot be is refused, and moves nothing', async (t) => {
  const server = await startServer(t)
  const refused = async (by: unknown, detail: string) => {
    const { status, body } = await advance(server, by)
    t.equal(status, 422)
    t.equal(body.details.causes[0].field, 'advance')
    t.match(body.message, detail)
  }
  await refused('soon', 'time: invalid duration "soon"')
  await refused('-1s', 'must be greater than or equal to 0')
  await refused(undefined, 'time: invalid duration ""')
  await refused({}, 'must be a duration such as 1h30m')
  const years = `${limits.clockAheadMsMax}ms`
  t.equal((await advance(server, years)).status, 200)
  await refused('1ms', 'must not move the clock ten years ahead')
  t.throws(() => server.clock.advance(Number.NaN), { code: 422 })
  t.throws(() => server.clock.advance(Number.POSITIVE_INFINITY), { code: 422 })
  t.equal(server.clock.aheadMs, limits.clockAheadMsMax)
  const noJson = await call(server, {
    method: 'POST',
    path: clockPath,
    headers: { 'content-length': '0' },
  })
  t.match(noJson.body, { code: 400, message: /no JSON/ })
})

t.test('whoever is known may look at the clock; the admin moves it', async (t) => {
  const server = await startServer(t)
  const as = (method: string, path: string, user: string) =>
    call(server, { method, path, body: { advance: '1s' }, headers: { 'impersonate-user': user } })
  t.equal((await as('GET', clockPath, 'jane')).status, 200)
  t.equal((await as('POST', clockPath, 'jane')).status, 403)
  t.equal((await as('GET', '/kubelevel/snapshots', 'jane')).status, 403)
  t.equal((await call(server, { path: clockPath, token: '' })).status, 403)
  t.equal((await call(server, { path: clockMovesPath, token: '' })).status, 403)
  t.equal(server.clock.aheadMs, 0)
})

/** The lines that a stream has brought so far. */
const follow = (server: Server, lines: string[]) =>
  new Promise<{ ended: Promise<void> }>((resolve, reject) => {
    const request = https.get(`${server.url}${clockMovesPath}`, {
      ca: server.caPem,
      agent: false,
      headers: { authorization: `Bearer ${server.adminToken}` },
    })
    request.on('error', reject)
    request.on('response', (response) => {
      response.setEncoding('utf8')
      response.on('data', (text: string) => lines.push(...text.trim().split('\n')))
      resolve({ ended: new Promise((ended) => response.on('end', ended)) })
    })
  })

t.test('who follows the clock is told at once, of each move, and of the end', async (t) => {
  const server = await startServer(t)
  await advance(server, '1s')
  const lines: string[] = []
  const { ended } = await follow(server, lines)
  await eventually('how far it is ahead', () => lines.length === 1)
  await advance(server, '0s')
  await advance(server, '1m')
  await eventually('the move', () => lines.length === 2)
  t.same(lines, ['{"aheadMs":1000}', '{"aheadMs":61000}'])
  await server.close()
  await ended
})

t.test('kubelevel clock tells the time of a running server, and moves it on', async (t) => {
  const dataDir = t.testdir()
  const server = await startServer(t, { kubeconfigOut: `${dataDir}/kubeconfig` })
  const run = async (...args: string[]) => {
    const { code, out } = await runCommand('clock', ...args, '--data-dir', dataDir)
    return `${code} ${out}`
  }
  t.match(await run(), /^0 \d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ\n$/)
  t.match(await run('1h30m'), /^0 \S+Z, 1h30m0s ahead of this machine\n$/)
  t.match(await run('x'), /^1 kubelevel clock: .*time: invalid duration "x"\n$/)
  t.equal(server.clock.aheadMs, 5_400_000)
  const { host } = new URL(server.url)
  await server.close()
  t.equal(await run(), `1 kubelevel clock: no server answers at ${host}: is it running?\n`)
  rmSync(`${dataDir}/kubeconfig`)
  t.match(await run(), `1 kubelevel clock: there is no file ${dataDir}/kubeconfig: start a server`)
})
