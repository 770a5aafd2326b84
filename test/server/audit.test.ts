/** The audit log beside what kube-apiserver v1.36.3 wrote of the same requests, and what becomes of events that cannot be kept. */
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import https from 'node:https'
import path from 'node:path'
import t, { type Test } from 'tap'
import WebSocket from 'ws'
import type { AuditOptions } from '#server/audit/audit-log.js'
import type { Server } from '#server/create-server.js'
import { eventually } from '../eventually.js'
import { readRecorded } from '../recorded.js'
import { temporaryDirectory } from '../storage/level-fixture.js'
import { type Answer, call, startServer } from './start-server.js'
import { startWebhook } from './webhook-server.js'

interface Step {
  path: string
  method?: string
  body?: unknown
  headers?: Record<string, string>
  token?: string
  code: number
  /** Lines of the log, without what no two runs share. */
  events: string[]
}

const recorded = readRecorded<Record<string, Step[]>>('server/audit')

const policy = `
apiVersion: audit.k8s.io/v1
kind: Policy
rules:
- level: None
  nonResourceURLs: ["/healthz*", "/livez*"]
- level: Request
  namespaces: ["req"]
- level: Metadata
  resources: [{group: "", resources: ["secrets"]}]
- level: RequestResponse
  namespaces: ["nomf"]
  omitManagedFields: true
- level: RequestResponse
`

const whole = { bufferSize: 100, maxSize: 10, maxWaitMs: 50 }

const tokens = 'admintoken,admin,admin-uid,system:masters\nlimitedtoken,limited,limited-uid\n'

interface Audited {
  server: Server
  lines(auditId: string): string[]
}

const startAudited = async (
  t: Test,
  more: Partial<NonNullable<AuditOptions['log']>> = {},
  rules = policy,
): Promise<Audited> => {
  const folder = temporaryDirectory(t)
  const [tokenAuthFile, policyFile, file] = ['tokens.csv', 'policy.yaml', 'logs/audit.log'].map(
    (name) => path.join(folder, name),
  ) as [string, string, string]
  writeFileSync(tokenAuthFile, tokens)
  writeFileSync(policyFile, rules)
  const log = { path: file, ...more }
  const server = await startServer(t, {
    tokenAuthFile,
    disableAdmissionPlugins: ['ServiceAccount'],
    audit: { policyFile, log },
  })
  return {
    server,
    lines: (auditId) =>
      readFileSync(file, 'utf8')
        .split('\n')
        .filter((line) => line.includes(auditId)),
  }
}

/** What differs from run to run. */
const scrubbed = (line: string): string =>
  line
    .replace(/"(uid|resourceVersion)":"(?!admin-uid|limited-uid)[^"]*"/g, '"$1":"*"')
    .replace(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, '*')
    .replace(/"serverAddress":"[^"]*"/g, '"serverAddress":"*"')
    .replace(/JTI=[0-9a-f-]+/g, 'JTI=*')
    .replace(/"token":"ey[^"]*"/g, '"token":"*"')
    .replace(/"auditID":"[^"]*"/, '"auditID":"*"')

const ask = (server: Server, step: Omit<Step, 'code' | 'events'>, id: string): Promise<number> =>
  new Promise((resolve, reject) => {
    const { method = 'GET', path, body, headers, token = 'admintoken' } = step
    const payload = body === undefined || typeof body === 'string' ? body : JSON.stringify(body)
    const request = https.request(
      `${server.url}${path}`,
      {
        method,
        ca: server.caPem,
        agent: false,
        headers: {
          authorization: `Bearer ${token}`,
          'audit-id': id,
          'user-agent': 'curl/7.88.1',
          accept: 'application/json',
          ...(payload === undefined
            ? {}
            : {
                'content-type': 'application/json',
                'content-length': String(Buffer.byteLength(payload as string)),
              }),
          ...headers,
        },
      },
      (response) => {
        response.resume()
        response.on('end', () => resolve(response.statusCode!))
      },
    )
    request.on('error', reject)
    request.end(payload)
  })

const create = (server: Server, path: string, body: object): Promise<Answer> =>
  call(server, {
    method: 'POST',
    path,
    body,
    token: 'admintoken',
    headers: { 'user-agent': 'curl/7.88.1' },
  })

const createNamespace = (server: Server, name: string, labels = {}): Promise<Answer> =>
  create(server, '/api/v1/namespaces', { metadata: { name, labels } })

const admission = '/apis/admissionregistration.k8s.io/v1'
const configMaps = {
  apiGroups: [''],
  apiVersions: ['v1'],
  resources: ['configmaps'],
  operations: ['*'],
}

/** What a webhook answers to each path. */
const hookAnswers: Record<string, object> = {
  '/mutate': {
    patchType: 'JSONPatch',
    patch: Buffer.from('[{"op":"add","path":"/metadata/labels","value":{"m":"1"}}]').toString(
      'base64',
    ),
    auditAnnotations: { hello: 'world', 'bad/key': 'x' },
  },
  '/same': { auditAnnotations: { k: 'v' } },
  '/empty': { patchType: 'JSONPatch', patch: Buffer.from('[]').toString('base64') },
  '/badpatch': { patchType: 'JSONPatch', patch: Buffer.from('{').toString('base64') },
  '/deny': { allowed: false, status: { message: 'no' }, auditAnnotations: { why: 'because' } },
}

const withWebhooks = async (
  t: Test,
  server: Server,
  resource: string,
  hooks: [name: string, path: string, more?: object][],
): Promise<void> => {
  const { clientConfig } = await startWebhook(t, (_review, path) => ({
    allowed: true,
    ...hookAnswers[path],
  }))
  const webhooks = hooks.map(([name, path, more]) => ({
    name,
    clientConfig: { ...clientConfig, url: clientConfig.url.replace(/\/$/, path) },
    rules: [configMaps],
    sideEffects: 'None',
    admissionReviewVersions: ['v1'],
    timeoutSeconds: 30,
    ...more,
  }))
  await create(server, `${admission}/${resource}`, {
    metadata: { name: resource[0] === 'm' ? 'm1' : 'v1' },
    webhooks,
  })
}

const dead = { clientConfig: { url: 'https://127.0.0.1:1/' }, failurePolicy: 'Ignore' }
const unmatched = { objectSelector: { matchLabels: { no: 'no' } } }

/** What is there before a story begins. */
const settings: Record<string, (t: Test, server: Server) => Promise<unknown>> = {
  webhooks: async (t, server) => {
    await withWebhooks(t, server, 'mutatingwebhookconfigurations', [
      ['one.a.b', '/mutate', { reinvocationPolicy: 'IfNeeded' }],
      ['two.a.b', '/same'],
      ['three.a.b', '/empty'],
      ['four.a.b', '/x', dead],
      ['five.a.b', '/badpatch', { failurePolicy: 'Ignore' }],
      ['six.a.b', '/same', unmatched],
      ['seven.a.b', '/mutate'],
    ])
    await withWebhooks(t, server, 'validatingwebhookconfigurations', [
      ['one.a.v', '/same'],
      ['two.a.v', '/x', dead],
      ['three.a.v', '/deny', unmatched],
    ])
  },
  'a webhook that denies': (t, server) =>
    withWebhooks(t, server, 'validatingwebhookconfigurations', [['one.a.v', '/deny']]),
  policies: async (_t, server) => {
    await create(server, `${admission}/validatingadmissionpolicies`, {
      metadata: { name: 'pol' },
      spec: {
        matchConstraints: { resourceRules: [configMaps] },
        failurePolicy: 'Fail',
        validations: [
          { expression: 'object.metadata.name != "bad"', message: 'no bad' },
          { expression: 'object.metadata.name.size() < 9' },
        ],
        auditAnnotations: [
          { key: 'nm', valueExpression: '"name " + object.metadata.name' },
          { key: 'nil', valueExpression: 'null' },
          { key: 'blank', valueExpression: '"   "' },
        ],
      },
    })
    await create(server, `${admission}/validatingadmissionpolicybindings`, {
      metadata: { name: 'b1' },
      spec: { policyName: 'pol', validationActions: ['Audit', 'Warn'] },
    })
  },
  'pod security': (_t, server) =>
    createNamespace(server, 'secure', {
      'pod-security.kubernetes.io/enforce': 'baseline',
      'pod-security.kubernetes.io/audit': 'restricted',
      'pod-security.kubernetes.io/audit-version': 'v1.30',
    }),
}

for (const [story, steps] of Object.entries(recorded))
  t.test(`events are those of kube-apiserver: ${story}`, async (t) => {
    const { server, lines } = await startAudited(t)
    await createNamespace(server, 'audited')
    await settings[story]?.(t, server)
    for (const [i, { code, events, ...step }] of steps.entries()) {
      const id = `step-${i}-`
      const what = `${step.method ?? 'GET'} ${step.path}`
      t.equal(await ask(server, step, id), code, what)
      // A watch, and what it ends with, is told of when the client is gone.
      if (step.path.includes('watch='))
        await eventually(what, () => lines(id).length >= events.length)
      t.same(lines(id).map(scrubbed), events, what)
    }
  })

t.test('a client that hangs up leaves its last event', async (t) => {
  const { server, lines } = await startAudited(t)
  const request = https.get(`${server.url}/api/v1/configmaps?watch=1`, {
    ca: server.caPem,
    agent: false,
    headers: { authorization: 'Bearer admintoken', 'audit-id': 'gone' },
  })
  request.on('error', () => {})
  await eventually('the watch has begun', () => lines('gone').length === 2)
  request.destroy()
  await eventually('the watch has ended', () => lines('gone').length === 3)
  t.match(
    lines('gone').map((line) => JSON.parse(line).stage),
    ['RequestReceived', 'ResponseStarted', 'ResponseComplete'],
  )
})

t.test('an upgraded connection is logged when it begins and when it ends', async (t) => {
  const { server, lines } = await startAudited(t)
  const socket = new WebSocket(`${server.url.replace('https', 'wss')}/api/v1/configmaps?watch=1`, {
    ca: server.caPem,
    origin: 'http://example.com',
    headers: { authorization: 'Bearer admintoken', 'audit-id': 'socket' },
  })
  await once(socket, 'open')
  const event = (at: number) => JSON.parse(lines('socket')[at]!)
  t.match(event(1), { stage: 'ResponseStarted', responseStatus: { code: 101 } })
  socket.terminate()
  await eventually('it has ended', () => lines('socket').length === 3)
  t.match(event(2), { stage: 'ResponseComplete', responseStatus: { code: 101 } })
})

t.test('stages that a policy omits are not logged', async (t) => {
  const rules = `
apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- level: Metadata
  verbs: [list]
  omitStages: [ResponseComplete]
- level: Metadata
`
  const { server, lines } = await startAudited(t, {}, rules)
  await ask(server, { path: '/api/v1/namespaces' }, 'listed')
  await ask(server, { path: '/api/v1/namespaces/default' }, 'read')
  t.same(lines('listed'), [])
  t.same(
    lines('read').map((line) => JSON.parse(line).stage),
    ['ResponseComplete'],
  )
})

t.test('in strict mode nothing is done whose event cannot be written', async (t) => {
  const { server } = await startAudited(t, { path: '/dev/full', mode: 'blocking-strict' })
  t.equal(await ask(server, { path: '/api/v1/namespaces' }, 'strict'), 500)
  const { text } = await call(server, { path: '/api/v1/namespaces', token: 'admintoken' })
  t.equal(text, 'Internal Server Error: "/api/v1/namespaces": failed to store audit event\n')
  const forgiving = await startAudited(t, { path: '/dev/full' })
  t.equal(await ask(forgiving.server, { path: '/api/v1/namespaces' }, 'forgiven'), 200)
  const metrics = await call(forgiving.server, { path: '/metrics' })
  t.match(metrics.text, /apiserver_audit_event_total 3\n/)
  t.match(metrics.text, /apiserver_audit_requests_rejected_total 0\n/)
  t.match(metrics.text, /apiserver_audit_level_total{level="RequestResponse"} 2\n/)
  t.match(metrics.text, /apiserver_audit_error_total{plugin="log"} 3\n/)
})

t.test('events that are told later are all there when the server has closed', async (t) => {
  const { server, lines } = await startAudited(t, {
    mode: 'batch',
    batch: { ...whole, maxSize: 7, maxWaitMs: 60_000 },
  })
  for (let i = 0; i < 10; i++) await ask(server, { path: '/api/v1/namespaces' }, `later-${i}-`)
  await server.close()
  t.equal(lines('later-').length, 20)
})

t.test('events that are too large lose their bodies, and then are dropped', async (t) => {
  const { server, lines } = await startAudited(t, {
    truncate: { maxEventSize: 3_000, maxBatchSize: 10_000 },
  })
  const path = '/api/v1/namespaces/default/configmaps'
  const body = { metadata: { name: 'large' }, data: { a: 'x'.repeat(3_000) } }
  await ask(server, { method: 'POST', path, body }, 'large')
  const event = JSON.parse(lines('large')[1]!)
  t.equal(event.annotations['audit.k8s.io/truncated'], 'true')
  t.equal(event.requestObject, undefined)
  t.equal(event.objectRef.name, 'large')
  await ask(server, { path: `${path}?x=${'y'.repeat(4_000)}` }, 'huge')
  t.same(lines('huge'), [])
})

t.test('the legacy form is a line of text', async (t) => {
  const { server, lines } = await startAudited(t, { format: 'legacy' })
  await ask(server, { path: '/api/v1/namespaces/default/pods' }, 'old')
  const [received, complete] = lines('old')
  const common =
    'ip="127.0.0.1" method="list" user="admin" groups="\\"system:masters\\",\\"system:authenticated\\"" as="<self>" asgroups="<lookup>" user-agent="curl/7.88.1" namespace="default" uri="/api/v1/namespaces/default/pods"'
  const withoutTime = (line = '') => line.replace(/^\S+ /, '')
  t.equal(
    withoutTime(received),
    `AUDIT: id="old" stage="RequestReceived" ${common} response="<deferred>"`,
  )
  t.equal(
    withoutTime(complete),
    `AUDIT: id="old" stage="ResponseComplete" ${common} response="200"`,
  )
})
