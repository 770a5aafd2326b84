/** Requests that fail on purpose, as clients see them over HTTP/1.1 and HTTP/2, and as the server tells of them. */
import { readFileSync, writeFileSync } from 'node:fs'
import http2 from 'node:http2'
import { Agent } from 'node:https'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { Informer } from '#client/informer.js'
import { silentLog } from '#client/log.js'
import { resources } from '#client/resources.js'
import type { FaultRule, Server } from '#src/index.js'
import { eventually } from '../eventually.js'
import { temporaryDirectory } from '../storage/level-fixture.js'
import { call, clientOf, startServer } from './start-server.js'

const maps = '/api/v1/namespaces/default/configmaps'
const faultsPath = '/kubelevel/faults'

const caller =
  (server: Server, headers: Record<string, string> = {}) =>
  (method: string, path: string, body?: object) =>
    call(server, { method, path, headers, ...(body && { body }) })

const create = (server: Server, name: string) =>
  caller(server)('POST', maps, { metadata: { name } })

t.test('a status is what kube-apiserver says with its code', async (t) => {
  const server = await startServer(t)
  const send = caller(server)
  await create(server, 'cm')
  const answers: [FaultRule['status'] & object, object, string?][] = [
    [
      { code: 409 },
      {
        reason: 'Conflict',
        message:
          'Operation cannot be fulfilled on configmaps "cm": the object has been modified; please apply your changes to the latest version and try again',
        details: { name: 'cm', kind: 'configmaps' },
      },
    ],
    [
      { code: 429 },
      {
        reason: 'TooManyRequests',
        message: 'Too many requests, please try again later.',
        details: { retryAfterSeconds: 1 },
      },
      '1',
    ],
    [{ code: 429, retryAfterSeconds: 7 }, { details: { retryAfterSeconds: 7 } }, '7'],
    [
      { code: 500 },
      {
        reason: 'InternalError',
        message: 'Internal error occurred: etcdserver: request timed out',
        details: { causes: [{ message: 'etcdserver: request timed out' }] },
      },
    ],
    [
      { code: 503, retryAfterSeconds: 2 },
      {
        reason: 'ServiceUnavailable',
        message: 'the server is currently unable to handle the request',
        details: { retryAfterSeconds: 2 },
      },
      '2',
    ],
    [
      { code: 504 },
      {
        reason: 'Timeout',
        message: 'Timeout: request did not complete within the allotted timeout',
      },
    ],
    [
      { code: 418, reason: 'Teapot', message: 'short and stout' },
      { reason: 'Teapot', message: 'short and stout', details: { name: 'cm', kind: 'configmaps' } },
    ],
  ]
  for (const [status, said, retryAfter] of answers) {
    const fault = server.faults.add({ match: { verb: 'update' }, status, times: 1 })
    const body = { metadata: { name: 'cm' }, data: { code: String(status.code) } }
    const refused = await send('PUT', `${maps}/cm`, body)
    t.equal(refused.status, status.code)
    const { code } = status
    t.match(refused.body, { kind: 'Status', apiVersion: 'v1', status: 'Failure', code, ...said })
    t.equal(refused.headers['retry-after'], retryAfter)
    t.equal(fault.seen, 1)
    const written = await send('PUT', `${maps}/cm`, body)
    t.match(written, { status: 200, body: { data: body.data } }, 'once')
    fault.remove()
  }
})

t.test('what matches, in which order, how often and from when', async (t) => {
  const server = await startServer(t, { authorizationModes: ['AlwaysAllow'] })
  const status = { code: 503 }
  const code = async (method: string, path: string, headers = {}) =>
    (await caller(server, headers)(method, path, method === 'GET' ? undefined : {})).status
  const strikes = async (match: FaultRule['match'], ...requests: Parameters<typeof code>[]) => {
    const fault = server.faults.add({ ...(match && { match }), status })
    for (const request of requests) t.equal(await code(...request), 503, request.join(' '))
    fault.remove()
  }
  const passes = async (match: FaultRule['match'], ...requests: Parameters<typeof code>[]) => {
    const fault = server.faults.add({ ...(match && { match }), status })
    for (const request of requests) t.not(await code(...request), 503, request.join(' '))
    t.equal(fault.seen, 0)
    fault.remove()
  }
  const pod = '/api/v1/namespaces/default/pods/p'
  await strikes(undefined, ['GET', maps], ['GET', '/healthz'], ['POST', '/nowhere'])
  await strikes({ verb: 'list' }, ['GET', maps])
  await passes({ verb: 'list' }, ['GET', `${maps}/x`], ['GET', '/healthz'])
  await strikes({ resource: 'pods' }, ['GET', pod], ['GET', `${pod}/status`])
  await strikes({ resource: 'pods', subresource: 'status' }, ['GET', `${pod}/status`])
  await passes({ resource: 'pods', subresource: '' }, ['GET', `${pod}/status`])
  await strikes({ apiGroup: '' }, ['GET', pod])
  await passes({ apiGroup: '' }, ['GET', '/apis/apps/v1/deployments'], ['GET', '/healthz'])
  await strikes({ namespace: 'default', name: 'p' }, ['GET', pod])
  await passes({ namespace: 'default', name: 'p' }, ['GET', `${pod}2`])
  await strikes({ verb: 'post' }, ['POST', '/nowhere'])
  const as = { 'impersonate-user': 'jane' }
  await strikes({ user: 'jane' }, ['GET', maps, as])
  await passes({ user: 'jane' }, ['GET', maps])
  await strikes({ userAgent: 'kubectl/' }, ['GET', maps, { 'user-agent': 'kubectl/v1.36.3 (x)' }])
  await passes({ userAgent: 'kubectl/' }, ['GET', maps, { 'user-agent': 'my-kubectl/1' }])

  const second = server.faults.add({ status: { code: 500 }, after: 2, times: 2 })
  const first = server.faults.add({ match: { verb: 'list' }, status, times: 1 })
  const codes = []
  for (let i = 0; i < 6; i++) codes.push(await code('GET', maps))
  t.same(codes, [503, 200, 500, 500, 200, 200], 'the first that is not used up')
  t.same([second.seen, first.seen], [2, 1])
  server.faults.clear()
  t.same(server.faults.list(), [])
})

t.test('over HTTP, rules are added, listed and removed, and never apply to that', async (t) => {
  const server = await startServer(t)
  const send = caller(server)
  const rule = { status: { code: 500 } }
  const added = await send('POST', faultsPath, rule)
  t.match(added, { status: 201, body: { id: '1', ...rule, seen: 0 } })
  t.equal((await send('GET', maps)).status, 500)
  t.match((await send('GET', faultsPath)).body, { faults: [{ id: '1', ...rule, seen: 1 }] })
  t.match((await send('DELETE', `${faultsPath}/1`)).body, { id: '1', seen: 1 })
  t.match((await send('DELETE', `${faultsPath}/1`)).body, { code: 404, reason: 'NotFound' })
  await send('POST', faultsPath, { delayMs: 1 })
  t.match((await send('DELETE', faultsPath)).body, { faults: [{ id: '2' }] })
  t.same((await send('GET', faultsPath)).body, { faults: [] })
  t.equal((await send('PUT', faultsPath, rule)).text, '404 page not found\n')
  t.match((await call(server, { method: 'POST', path: faultsPath, token: '', body: rule })).body, {
    code: 403,
    reason: 'Forbidden',
  })

  const refused: [unknown, string][] = [
    [{}, 'status: Required value: one of `status`, `cut`, `gone` and `delayMs` must be specified'],
    [{ status: {} }, 'status.code: Required value'],
    [
      { status: { code: 200 } },
      'status.code: Invalid value: 200: must be a whole number between 400 and 599, inclusive',
    ],
    [
      { status: { code: 404 } },
      'status.reason: Required value: there is no default for 404, status.message: Required value: there is no default for 404',
    ],
    [{ status: 500 }, 'status: Invalid value: 500: must be an object'],
    [{ cut: 'now' }, 'cut: Unsupported value: "now": supported values: "before", "after"'],
    [{ gone: false }, 'gone: Unsupported value: false: supported values: "true"'],
    [{ gone: true, cut: 'before' }, 'gone: Forbidden: may not be specified when `cut` is'],
    [
      { cut: 'before', afterEvents: 1 },
      "afterEvents: Forbidden: may only be specified with `gone` and `cut: 'after'`",
    ],
    [
      { gone: true, match: { verb: 'list' } },
      'match.verb: Invalid value: "list": only a watch has events',
    ],
    [{ gone: true, match: { pod: 'x' } }, 'match.pod: Forbidden: unknown field'],
    [{ gone: true, match: { name: 1 } }, 'match.name: Invalid value: 1: must be a string'],
    [
      { delayMs: 60_001, times: 0 },
      'delayMs: Invalid value: 60001: must be a whole number between 1 and 60000, inclusive, times: Invalid value: 0: must be a whole number between 1 and 9007199254740991, inclusive',
    ],
  ]
  for (const [body, why] of refused) {
    const { status, body: answer } = await send('POST', faultsPath, body as object)
    t.equal(status, 422)
    const shown = why.includes(', ') && answer.message.includes('[') ? `[${why}]` : why
    t.equal(answer.message, `FaultRule "" is invalid: ${shown}`)
    t.equal(answer.details.causes[0].field, why.split(':')[0])
    t.throws(() => server.faults.add(body as FaultRule), { message: answer.message })
  }
  t.match((await send('POST', faultsPath, [])).body, { code: 400, reason: 'BadRequest' })
  for (let i = 0; i < 100; i++) server.faults.add({ delayMs: 1 })
  t.match((await send('POST', faultsPath, { delayMs: 1 })).body, {
    code: 422,
    message: /Too many: 101: must have at most 100 items/,
  })
})

/** One request over HTTP/2, on a session that others share. */
const overHttp2 = (session: http2.ClientHttp2Session, headers: http2.OutgoingHttpHeaders) =>
  new Promise<{ status: number; text: string }>((resolve, reject) => {
    const stream = session.request(headers, { endStream: headers[':method'] !== 'POST' })
    let text = ''
    let status = 0
    stream.on('response', (answer) => {
      status = Number(answer[':status'])
    })
    stream.setEncoding('utf8').on('data', (piece) => {
      text += piece
    })
    stream.on('error', (error) => reject(Object.assign(error, { text, status })))
    stream.on('end', () => resolve({ status, text }))
    if (headers[':method'] === 'POST') stream.end(headers.body as string)
  })

const sessionOf = (t: Test, server: Server) => {
  const session = http2.connect(server.url, { ca: server.caPem })
  t.teardown(() => session.close())
  return (method: string, path: string, body?: object) => {
    const authorization = `Bearer ${server.adminToken}`
    const sent = body && { body: JSON.stringify(body), 'content-type': 'application/json' }
    const headers = { ':method': method, ':path': path, authorization }
    const { body: payload, ...more } = sent ?? { body: undefined }
    return overHttp2(session, { ...headers, ...more, ...(payload && { body: payload }) })
  }
}

t.test('a connection is cut before or after the write', async (t) => {
  const server = await startServer(t)
  const match = { verb: 'create', resource: 'configmaps' }
  const there = async (name: string) =>
    (await call(server, { path: `${maps}/${name}` })).status === 200
  for (const cut of ['before', 'after'] as const) {
    const fault = server.faults.add({ match, cut })
    await t.rejects(create(server, cut), /socket hang up|ECONNRESET/)
    t.equal(await there(cut), cut === 'after', `${cut}: what is stored`)
    const overSession = sessionOf(t, server)
    const body = { metadata: { name: `${cut}-2` } }
    await t.rejects(overSession('POST', maps, body), { code: 'ERR_HTTP2_STREAM_ERROR' })
    t.equal(await there(`${cut}-2`), cut === 'after')
    t.equal((await overSession('GET', maps)).status, 200, 'others on the connection go on')
    t.equal(fault.seen, 2)
    fault.remove()
  }
  const list = server.faults.add({ match: { verb: 'list' }, cut: 'after' })
  for (let i = 0; i < 30; i++)
    await caller(server)('POST', maps, {
      metadata: { name: `large-${i}` },
      data: { a: 'x'.repeat(10_000) },
    })
  await t.rejects(call(server, { path: maps }), /socket hang up|ECONNRESET/, 'a long answer')
  const headers = { 'accept-encoding': 'gzip' }
  await t.rejects(call(server, { path: maps, headers }), /socket hang up|ECONNRESET/)
  t.equal(list.seen, 2)
})

t.test('a watch shows so many events, then it is cut or its history gone', async (t) => {
  const server = await startServer(t)
  for (const name of ['a', 'b', 'c']) await create(server, name)
  const selector = 'fieldSelector=metadata.name%21%3Dkube-root-ca.crt'
  const watch = `${maps}?watch=1&timeoutSeconds=300&${selector}`
  const kinds = (text: string) =>
    text
      .split('\n')
      .filter(Boolean)
      .map((line) => JSON.parse(line))
      .map(({ type, object: { metadata, code, reason } }) =>
        [type, metadata.name ?? `${code} ${reason}`].join(' '),
      )
  const overSession = sessionOf(t, server)
  const shown = ['ADDED a', 'ADDED b']
  const gone = server.faults.add({ gone: true, afterEvents: 2 })
  t.same(kinds((await call(server, { path: watch })).text), [...shown, 'ERROR 410 Expired'])
  t.same(kinds((await overSession('GET', watch)).text), [...shown, 'ERROR 410 Expired'])
  gone.remove()
  const atOnce = server.faults.add({ gone: true, times: 1 })
  t.same(kinds((await call(server, { path: watch })).text), ['ERROR 410 Expired'])
  t.equal((await call(server, { path: maps })).status, 200, 'no watch')
  atOnce.remove()
  const cut = server.faults.add({ cut: 'after', afterEvents: 2 })
  const agent = new Agent()
  const pieces: string[] = []
  await t.rejects(
    new Promise((resolve, reject) => {
      const { hostname, port } = new URL(server.url)
      const headers = { authorization: `Bearer ${server.adminToken}` }
      const options = { hostname, port, path: watch, ca: server.caPem, headers, agent }
      import('node:https').then(({ get }) =>
        get(options, (answer) => {
          answer.on('data', (piece) => pieces.push(String(piece)))
          answer.on('end', resolve)
          answer.on('error', reject)
        }),
      )
    }),
    { code: 'ECONNRESET' },
  )
  t.same(kinds(pieces.join('')), shown, 'what was shown before has come')
  const broken = await overSession('GET', watch).catch((error) => error)
  t.equal(broken.code, 'ERR_HTTP2_STREAM_ERROR')
  t.same(kinds(broken.text), shown)
  t.equal(cut.seen, 2)
})

t.test('an informer comes through all of it', async (t) => {
  const server = await startServer(t)
  const client = await clientOf(t, server)
  const informer = new Informer({ client, ref: resources.configMaps, log: silentLog })
  const faults = [
    server.faults.add({ match: { verb: 'list' }, status: { code: 503 }, times: 1 }),
    server.faults.add({ gone: true, afterEvents: 1, times: 3 }),
    server.faults.add({ cut: 'after', afterEvents: 3, times: 3 }),
    server.faults.add({ match: { verb: 'list' }, cut: 'before', after: 1, times: 1 }),
  ]
  const stop = new AbortController()
  const running = informer.run(stop.signal)
  await informer.synced()
  for (let i = 0; faults.some(({ seen, rule }) => seen < rule.times!); i++) {
    t.equal((await create(server, `cm-${i}`)).status, 201)
    await eventually('the informer knows it', () => informer.store.get(`default/cm-${i}`))
  }
  stop.abort()
  await running
})

t.test('a delay is an ordinary request that lasts, and ends with its client', async (t) => {
  const server = await startServer(t)
  const late = server.faults.add({ match: { verb: 'create' }, delayMs: 50, times: 1 })
  const began = performance.now()
  t.equal((await create(server, 'late')).status, 201)
  t.ok(performance.now() - began >= 49)
  late.remove()
  server.faults.add({ match: { verb: 'create' }, delayMs: 300, status: { code: 500 } })
  const answer = await caller(server)('POST', `${maps}?timeout=50ms`, { metadata: { name: 'x' } })
  t.match(answer, { status: 504, text: /request did not complete within the allotted timeout/ })
})

t.test('the audit log and metrics tell what the client saw', async (t) => {
  const directory = temporaryDirectory(t)
  const [policyFile, logPath] = [join(directory, 'policy'), join(directory, 'log')]
  const policy = {
    apiVersion: 'audit.k8s.io/v1',
    kind: 'Policy',
    rules: [{ level: 'Metadata', resources: [{ group: '', resources: ['configmaps'] }] }],
  }
  writeFileSync(policyFile, JSON.stringify(policy))
  const server = await startServer(t, { audit: { policyFile, log: { path: logPath } } })
  const match = { resource: 'configmaps', verb: 'create' }
  server.faults.add({ match, status: { code: 503, message: 'not now' }, times: 1 })
  await create(server, 'a')
  server.faults.add({ match, cut: 'after', times: 1 })
  await create(server, 'b').catch(() => {})
  await create(server, 'c')
  const events = await eventually('all three are told of', () => {
    const lines = readFileSync(logPath, 'utf8').split('\n').filter(Boolean)
    const all = lines
      .map((line) => JSON.parse(line))
      .filter(({ stage, verb }) => stage === 'ResponseComplete' && verb === 'create')
    return all.length === 3 && all
  })
  t.match(events, [
    {
      responseStatus: { code: 503, reason: 'ServiceUnavailable', message: 'not now' },
      annotations: { 'kubelevel/fault': '1' },
    },
    {
      responseStatus: { message: 'Connection closed early' },
      annotations: { 'kubelevel/fault': '2' },
    },
    { responseStatus: { code: 201 } },
  ])
  t.notOk(events[2].annotations?.['kubelevel/fault'])
  const { text } = await call(server, { path: '/metrics' })
  const counted = text
    .split('\n')
    .filter((line) => /^apiserver_request_total.*resource="configmaps".*verb="POST"/.test(line))
    .map((line) => `${/code="(\d+)"/.exec(line)![1]} ${line.split(' ').pop()}`)
  // The server itself makes a few before.
  t.same(counted.sort(), ['201 1', '503 1'])
})
