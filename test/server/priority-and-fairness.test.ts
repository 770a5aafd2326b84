/**
 * Levels of priority as who uses the server meets them. Requests are held by a webhook under the test's control; what is
 * expected was recorded with kube-apiserver 1.36.3, whose seats were as few.
 */
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import https from 'node:https'
import { tmpdir } from 'node:os'
import path from 'node:path'
import t, { type Test } from 'tap'
import type { Server, ServerOptions } from '#src/index.js'
import { eventually } from '../eventually.js'
import { type Answer, type Call, call, startServer } from './start-server.js'
import { startWebhook } from './webhook-server.js'

const folder = mkdtempSync(path.join(tmpdir(), 'kubelevel-fairness-'))
t.teardown(() => rmSync(folder, { recursive: true, force: true }))
const tokenAuthFile = path.join(folder, 'tokens.csv')
writeFileSync(tokenAuthFile, 'alicetoken,alice,1,team\nbobtoken,bob,2,team\n')

const flow = '/apis/flowcontrol.apiserver.k8s.io/v1'
const maps = '/api/v1/namespaces/default/configmaps'
const dumps = '/debug/api_priority_and_fairness'

const create = async (server: Server, path: string, body: object): Promise<void> => {
  const made = await call(server, { method: 'POST', path, body })
  if (made.status !== 201) throw new Error(made.text)
}

const queuing = { queues: 8, handSize: 1, queueLengthLimit: 2 }

/** A webhook holds each ConfigMap of a team until the test lets it go. */
const heldServer = async (t: Test, options: ServerOptions) => {
  const held: { name: string; release: () => void }[] = []
  let holds = true
  const webhook = await startWebhook(t, ({ request }) =>
    holds
      ? new Promise((resolve) =>
          held.push({ name: request.name, release: () => resolve({ allowed: true }) }),
        )
      : { allowed: true },
  )
  const server = await startServer(t, { tokenAuthFile, ...options })
  await create(server, '/apis/rbac.authorization.k8s.io/v1/clusterrolebindings', {
    metadata: { name: 'team' },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'cluster-admin' },
    subjects: [{ kind: 'Group', apiGroup: 'rbac.authorization.k8s.io', name: 'team' }],
  })
  const hook = {
    name: 'hold.example.com',
    timeoutSeconds: 30,
    sideEffects: 'None',
    admissionReviewVersions: ['v1'],
    clientConfig: webhook.clientConfig,
    rules: [
      { apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE'], resources: ['configmaps'] },
    ],
  }
  await create(server, '/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations', {
    metadata: { name: 'hold' },
    webhooks: [hook],
  })
  const letAll = () => {
    holds = false
    for (const { release } of held.splice(0)) release()
  }
  t.teardown(letAll)
  return {
    server,
    held,
    letAll,
    write: (user: string, name: string, more: Partial<Call> = {}): Promise<Answer> =>
      call(server, {
        method: 'POST',
        path: maps,
        token: `${user}token`,
        body: { metadata: { name } },
        ...more,
      }),
    holding: (name: string) =>
      eventually(`${name} at the webhook`, () => held.find((one) => one.name === name)),
  }
}

/** One seat for ConfigMaps of the team. */
const narrowServer = async (t: Test, limitResponse: object = { type: 'Queue', queuing }) => {
  const few = { maxRequestsInFlight: 40, maxMutatingRequestsInFlight: 20 }
  // A quarter of it they may wait: as long as the webhook may hold the first.
  const requestTimeoutMs = 120_000
  const made = await heldServer(t, { ...few, requestTimeoutMs })
  const { server } = made
  const limited = { nominalConcurrencyShares: 1, borrowingLimitPercent: 0, limitResponse }
  await create(server, `${flow}/prioritylevelconfigurations`, {
    metadata: { name: 'narrow' },
    spec: { type: 'Limited', limited },
  })
  const rule = { verbs: ['*'], apiGroups: [''], resources: ['configmaps'], namespaces: ['default'] }
  await create(server, `${flow}/flowschemas`, {
    metadata: { name: 'apf-users' },
    spec: {
      matchingPrecedence: 100,
      priorityLevelConfiguration: { name: 'narrow' },
      distinguisherMethod: { type: 'ByUser' },
      rules: [{ subjects: [{ kind: 'Group', group: { name: 'team' } }], resourceRules: [rule] }],
    },
  })
  const counts = async () => {
    const { text } = await call(server, { path: `${dumps}/dump_priority_levels` })
    const row = text.split('\n').find((line) => line.startsWith('narrow,'))
    const cells = (row?.split(/,\s+/) ?? []).map(Number)
    const [waiting, executing, dispatched, refused, , cancelled] = cells.slice(4)
    return { waiting, executing, dispatched, refused, cancelled }
  }
  await eventually('its schema', async () => {
    await call(server, { path: `${maps}/none`, token: 'alicetoken' })
    return (await counts()).dispatched === 1
  })
  return {
    ...made,
    counts,
    /** Resolves when that many wait. */
    waiting: (count: number) =>
      eventually(`${count} that wait`, async () => (await counts()).waiting === count),
  }
}

const metricsOf = async (server: Server, name: RegExp): Promise<string[]> => {
  const { text } = await call(server, { path: '/metrics' })
  return text
    .split('\n')
    .filter((line) => line.includes('"narrow"') && name.test(line))
    .map((line) => line.replace('apiserver_flowcontrol_', ''))
    .sort()
}

t.test('with one seat, requests wait, are refused, and have their turn in order', async (t) => {
  const { server, held, counts, write, waiting, holding } = await narrowServer(t)
  const answers: Promise<Answer>[] = []
  const send = (user: string, name: string) => void answers.push(write(user, name))
  send('alice', 'a1')
  await holding('a1')
  for (const [i, name] of ['a2', 'a3'].entries()) {
    send('alice', name)
    await waiting(i + 1)
  }
  const refused = await write('alice', 'a4')
  t.equal(refused.status, 429)
  t.equal(refused.text, 'Too many requests, please try again later.\n')
  t.match(refused.headers, {
    'retry-after': '1',
    'content-type': 'text/plain; charset=utf-8',
    'x-content-type-options': 'nosniff',
    'cache-control': 'no-cache, private',
    'x-kubernetes-pf-flowschema-uid': /^[-0-9a-f]{36}$/,
    'x-kubernetes-pf-prioritylevel-uid': /^[-0-9a-f]{36}$/,
  })
  for (const [i, name] of ['b1', 'b2'].entries()) {
    send('bob', name)
    await waiting(i + 3)
  }
  t.equal((await write('bob', 'b3')).status, 429)
  t.same(await counts(), { waiting: 4, executing: 1, dispatched: 2, refused: 2, cancelled: 0 })
  const { text: ofQueues } = await call(server, { path: `${dumps}/dump_queues` })
  const waitingOf = (line: string): number => Number(line.split(/,\s+/)[2])
  const narrow = ofQueues.split('\n').filter((line) => line.startsWith('narrow,'))
  t.equal(
    narrow.reduce((sum, line) => sum + waitingOf(line), 0),
    4,
  )
  const { text } = await call(server, { path: `${dumps}/dump_requests?includeRequestDetails=1` })
  const seen = text
    .split('\n')
    .filter((line) => line.startsWith('narrow,'))
    .map((line) => line.replace(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, 'T').replace(/ +/g, ' '))
  const path = ['create', maps, 'default', '', 'v1', 'configmaps', ''].join(', ')
  t.same(seen.sort(), [
    // Queues are those that kube-apiserver deals to these users of this schema.
    `narrow, apf-users, 2, -1, alice, T, 1, 0, 0s, T, alice, ${path}`,
    `narrow, apf-users, 2, 0, alice, T, 1, 0, 0s, T, alice, ${path}`,
    `narrow, apf-users, 2, 1, alice, T, 1, 0, 0s, T, alice, ${path}`,
    `narrow, apf-users, 7, 0, bob, T, 1, 0, 0s, T, bob, ${path}`,
    `narrow, apf-users, 7, 1, bob, T, 1, 0, 0s, T, bob, ${path}`,
  ])
  const labels = '{flow_schema="apf-users",priority_level="narrow"'
  t.same(await metricsOf(server, /current_(in|ex)|rejected|limit_seats/), [
    `current_executing_requests${labels}} 1`,
    `current_executing_seats${labels}} 1`,
    `current_inqueue_requests${labels}} 4`,
    `current_inqueue_seats${labels}} 4`,
    'current_limit_seats{priority_level="narrow"} 1',
    'lower_limit_seats{priority_level="narrow"} 1',
    'nominal_limit_seats{priority_level="narrow"} 1',
    `rejected_requests_total${labels},reason="queue-full"} 2`,
    'upper_limit_seats{priority_level="narrow"} 1',
  ])
  const order: string[] = []
  for (let left = 5; left > 0; left--) {
    const next = await eventually('the next one', () => held.shift())
    order.push(next.name)
    t.equal(held.length, 0, 'one at a time')
    next.release()
  }
  t.equal(order.filter((name) => name.startsWith('a')).join(), 'a1,a2,a3')
  t.equal(order.filter((name) => name.startsWith('b')).join(), 'b1,b2')
  t.equal(order[1], 'b1', 'alice has had the seat all that time')
  t.same(
    (await Promise.all(answers)).map(({ status }) => status),
    Array(5).fill(201),
  )
  t.match(await counts(), { waiting: 0, executing: 0, dispatched: 6 })
})

t.test('a request that waits too long is refused, and one that is left is forgotten', async (t) => {
  const { server, counts, write, waiting, holding } = await narrowServer(t)
  const first = write('alice', 'first')
  const { release } = await holding('first')
  const late = await write('alice', 'late', { path: `${maps}?timeout=2s` })
  t.equal(late.status, 429, 'after a quarter of the time that it had')
  const { hostname, port } = new URL(server.url)
  const headers = { authorization: 'Bearer bobtoken', 'content-type': 'application/json' }
  const gone = https.request({
    hostname,
    port,
    ca: server.caPem,
    path: maps,
    method: 'POST',
    headers,
  })
  gone.on('error', () => {})
  gone.end('{"metadata":{"name":"gone"}}')
  await waiting(1)
  gone.destroy()
  await waiting(0)
  t.same(await counts(), { waiting: 0, executing: 1, dispatched: 2, refused: 2, cancelled: 2 })
  t.same(await metricsOf(server, /rejected/), [
    'rejected_requests_total{flow_schema="apf-users",priority_level="narrow",reason="time-out"} 2',
  ])
  release()
  t.equal((await first).status, 201)
})

t.test('a level without queues refuses at once, and administrators are exempt', async (t) => {
  const { server, counts, write, holding, letAll } = await narrowServer(t, { type: 'Reject' })
  const first = write('alice', 'first')
  await holding('first')
  t.equal((await write('bob', 'second')).status, 429)
  t.same(await metricsOf(server, /rejected/), [
    'rejected_requests_total{flow_schema="apf-users",priority_level="narrow",reason="concurrency-limit"} 1',
  ])
  const admins = write('', 'third', { token: server.adminToken })
  await holding('third')
  letAll()
  t.same(
    (await Promise.all([first, admins])).map(({ status }) => status),
    [201, 201],
  )
  t.match(await counts(), { refused: 1, executing: 0 })
})

t.test('a watch has a seat until it has begun; writes with watchers take more seats', async (t) => {
  const { server, counts, write, holding, letAll } = await narrowServer(t)
  const headers = { authorization: 'Bearer alicetoken' }
  const watch = async (): Promise<void> => {
    const options = { ca: server.caPem, agent: false, headers }
    const request = https.get(`${server.url}${maps}?watch=1`, options)
    request.on('error', () => {})
    t.teardown(() => request.destroy())
    const [response] = await once(request, 'response')
    t.equal(response.statusCode, 200)
    response.on('error', () => {}).resume()
  }
  // One after the other: only two may wait.
  for (let i = 0; i < 12; i++) await watch()
  await eventually('all have begun', async () => (await counts()).executing === 0)
  const held = write('alice', 'told')
  const { release } = await holding('told')
  const { text } = await call(server, { path: `${dumps}/dump_requests` })
  const row = text.split('\n').find((line) => line.startsWith('narrow,'))
  t.equal(row?.split(/,\s+/).slice(6, 9).join(), '1,1,10ms', 'two seats for 5 ms, one at a time')
  release()
  t.equal((await held).status, 201)
  letAll()
})

t.test('switched off, there are limits of the whole server', async (t) => {
  const options = { priorityAndFairness: false, maxMutatingRequestsInFlight: 1 }
  const { server, write, holding, letAll } = await heldServer(t, options)
  const first = write('alice', 'first')
  await holding('first')
  const second = await write('bob', 'second')
  t.equal(second.status, 429)
  t.equal(second.text, 'Too many requests, please try again later.\n')
  t.equal(second.headers['retry-after'], '1')
  t.equal(second.headers['x-kubernetes-pf-flowschema-uid'], undefined)
  t.equal(
    (await call(server, { path: maps, token: 'alicetoken' })).status,
    200,
    'reads have theirs',
  )
  t.equal((await call(server, { path: `${dumps}/dump_queues` })).status, 404)
  const { text } = await call(server, { path: '/metrics' })
  t.match(text, 'apiserver_current_inflight_requests')
  t.notMatch(text, 'apiserver_current_inqueue_requests')
  const { text: ready } = await call(server, { path: '/readyz?verbose' })
  t.match(ready, 'poststarthook/max-in-flight-filter ok')
  t.notMatch(ready, 'priority-and-fairness-filter')
  letAll()
  t.equal((await first).status, 201)
})
