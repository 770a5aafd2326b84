/** Admission webhooks: what they are asked, what their answers do, and what is told of those that are wrong. */
import { networkInterfaces } from 'node:os'
import t, { type Test } from 'tap'
import type { Server } from '#src/index.js'
import { eventually } from '../eventually.js'
import { definitionOf, textsOf, versionOf } from './definition-body.js'
import { call, startServer } from './start-server.js'
import { patchOf, type Review, startWebhook, type WebhookServer } from './webhook-server.js'

const maps = '/api/v1/namespaces/default/configmaps'

const configMaps = { group: '', resource: 'configmaps' }

interface Hook {
  readonly name: string
  readonly failurePolicy?: string
  readonly timeoutSeconds?: number
  readonly reinvocationPolicy?: string
  readonly matchConditions?: readonly object[]
  readonly resource?: { readonly group: string; readonly resource: string }
}

const register = async (
  server: Server,
  kind: 'mutating' | 'validating',
  { clientConfig }: WebhookServer,
  hooks: readonly Hook[],
): Promise<void> => {
  const webhooks = hooks.map(({ resource: { group, resource } = configMaps, ...hook }) => ({
    timeoutSeconds: 30,
    ...hook,
    name: `${hook.name}.example.com`,
    clientConfig: { ...clientConfig, url: `${clientConfig.url}${hook.name}` },
    rules: [{ apiGroups: [group], apiVersions: ['v1'], operations: ['*'], resources: [resource] }],
    sideEffects: 'None',
    admissionReviewVersions: ['v1'],
  }))
  const made = await call(server, {
    method: 'POST',
    path: `/apis/admissionregistration.k8s.io/v1/${kind}webhookconfigurations`,
    body: { metadata: { name: 'hooks' }, webhooks },
  })
  if (made.status !== 201) throw new Error(made.text)
}

const start = async (
  t: Test,
  kind: 'mutating' | 'validating',
  hooks: readonly Hook[],
  answer: (request: Review, hook: string, timeout: string | null) => object | Promise<object>,
) => {
  const webhook = await startWebhook(t, ({ request }, path, timeout) =>
    answer(request, path.slice(1), timeout),
  )
  const server = await startServer(t)
  await register(server, kind, webhook, hooks)
  const create = (name: string, data: object = { k: 'v' }) =>
    call(server, { method: 'POST', path: maps, body: { metadata: { name }, data } })
  return { server, webhook, create }
}

t.test(
  'a webhook is asked again when a later one changed the object, if it wants that',
  async (t) => {
    const hooks = [{ name: 'first', reinvocationPolicy: 'IfNeeded' }, { name: 'second' }]
    const { webhook, create } = await start(t, 'mutating', hooks, ({ object }, hook) => {
      const key = hook === 'first' && object.data.second !== undefined ? 'again' : hook
      return patchOf([{ op: 'add', path: `/data/${key}`, value: 'x' }])
    })
    const { body } = await create('a')
    t.same(body.data, { again: 'x', first: 'x', k: 'v', second: 'x' })
    t.equal(webhook.reviews.length, 3)
  },
)

t.test('what counts as a change that a webhook made', async (t) => {
  const resource = { group: '', resource: 'services' }
  const hooks = [
    { name: 'first', reinvocationPolicy: 'IfNeeded', resource },
    { name: 'second', resource },
    { name: 'third', resource },
  ]
  let patch: object
  const { server, webhook } = await start(t, 'mutating', hooks, (_, hook) =>
    hook === 'first' ? { allowed: true } : patchOf([patch]),
  )
  const path = '/api/v1/namespaces/default/services'
  const same = { op: 'add', path: '/spec/sessionAffinity', value: 'None' }
  const send = async (operation: object, method: string, path: string, body: object) => {
    webhook.reviews.length = 0
    patch = operation
    const answer = await call(server, { method, path, body })
    t.match(answer.body, { spec: { sessionAffinity: 'None' }, status: { loadBalancer: {} } })
    return { asked: webhook.reviews.length, body: answer.body }
  }
  const service = { metadata: { name: 'a' }, spec: { ports: [{ port: 80 }] } }
  const { asked, body } = await send(same, 'POST', path, service)
  t.equal(asked, 4, 'the time at which somebody became an owner is not what it was')
  const put = async (operation: object, object = body) =>
    (await send(operation, 'PUT', `${path}/a`, object)).asked
  t.equal(await put(same), 3)
  t.equal(await put({ op: 'replace', path: '/status', value: null }), 3, 'Go writes it anyway')
  t.equal(await put({ op: 'remove', path: '/spec/sessionAffinity' }), 4, 'a default puts it back')
  const labelled = { ...body, metadata: { ...body.metadata, labels: { a: 'b' } } }
  t.equal(await put(same, labelled), 4)
})

t.test('a webhook has no more time than the client of the request', async (t) => {
  const hooks = [
    { name: 'long', timeoutSeconds: 20 },
    { name: 'short', timeoutSeconds: 10 },
  ]
  const told: [string, string | null][] = []
  const { server } = await start(t, 'mutating', hooks, (_, hook, timeout) => {
    told.push([hook, timeout])
    return { allowed: true }
  })
  const body = { metadata: { generateName: 'a-' } }
  await call(server, { method: 'POST', path: `${maps}?timeout=19s`, body })
  await call(server, { method: 'POST', path: maps, body })
  // Seconds that the machine took before are gone.
  t.match(told, [
    ['long', /^1?\ds$/],
    ['short', '10s'],
    ['long', '20s'],
    ['short', '10s'],
  ])
})

t.test('a write whose client has left asks no further webhook and is not written', async (t) => {
  let release = (): void => {}
  const late = new Promise<void>((resolve) => {
    release = resolve
  })
  const hooks = ['first', 'second'].map((name) => ({ name, failurePolicy: 'Ignore' }))
  const asked: string[] = []
  const { server, create } = await start(t, 'mutating', hooks, async ({ name }, hook) => {
    asked.push(`${hook} ${name}`)
    if (name === 'a') await late
    return { allowed: true }
  })
  const body = { metadata: { name: 'a' } }
  // Where the machine was too slow to ask within this time, in twice as long.
  for (let timeoutMs = 500; asked.length === 0; timeoutMs *= 2) {
    const path = `${maps}?timeout=${timeoutMs}ms`
    const { status } = await call(server, { method: 'POST', path, body })
    t.equal(status, 504)
  }
  release()
  t.equal((await create('b')).status, 201)
  // It may have been asked once more by a try whose time was over by then.
  t.same([...new Set(asked)], ['first a', 'first b', 'second b'])
  t.equal((await call(server, { path: `${maps}/a` })).status, 404)
})

t.test('the options of a request are told as they were sent; a connection has none', async (t) => {
  const pods = { group: '', resource: 'pods/proxy' }
  const hooks = [{ name: 'maps' }, { name: 'proxies', resource: pods }]
  const { server, webhook } = await start(t, 'validating', hooks, () => ({ allowed: true }))
  const body = { metadata: { name: 'a' } }
  const query = 'fieldManager=me&fieldValidation=Strict'
  await call(server, { method: 'POST', path: `${maps}?${query}`, body })
  await call(server, { method: 'PUT', path: `${maps}/a?fieldValidation=Warn&dryRun=All`, body })
  await call(server, { method: 'DELETE', path: `${maps}/a?gracePeriodSeconds=0` })
  await call(server, { path: '/api/v1/namespaces/default/pods/p/proxy/' })
  const of = (kind: string) => ({ kind, apiVersion: 'meta.k8s.io/v1' })
  t.same(
    webhook.reviews.map(({ request }) => [request.operation, request.options]),
    [
      ['CREATE', { ...of('CreateOptions'), fieldManager: 'me', fieldValidation: 'Strict' }],
      ['UPDATE', { ...of('UpdateOptions'), dryRun: ['All'], fieldValidation: 'Warn' }],
      ['DELETE', { ...of('DeleteOptions'), gracePeriodSeconds: 0 }],
      ['CONNECT', null],
    ],
  )
})

t.test('an invalid answer is reported in upstream’s words', async (t) => {
  let answer: object = {}
  const { create } = await start(t, 'mutating', [{ name: 'w' }], () => answer)
  const failed = 'Internal error occurred: failed calling webhook "w.example.com":'
  const cases: [object, number, string][] = [
    [
      { uid: 'x', allowed: true },
      500,
      `${failed} received invalid webhook response: expected response.uid=`,
    ],
    [
      { allowed: true, patch: patchOf([]).patch },
      500,
      `${failed} received invalid webhook response: webhook returned response.patch but not response.patchType`,
    ],
    [
      { ...patchOf({}) },
      500,
      `${failed} received undecodable patch in webhook response: json: cannot unmarshal object into Go value of type jsonpatch.Patch`,
    ],
    [patchOf([{ op: 'frob', path: '/x' }]), 500, 'Internal error occurred: Unexpected kind: frob'],
    ...(
      [
        [{ op: 'add' }, 'add operation failed to decode path: missing value'],
        [
          { op: 'test' },
          'test operation failed to decode path: operation missing path field: missing value',
        ],
        [
          { op: 'replace', path: '', value: null },
          'replace operation value must be object or array: %!w(<nil>)',
        ],
        [
          { op: 'replace', path: '/kind', value: 'Other' },
          'no kind "Other" is registered for version "v1" in scheme "pkg/runtime/scheme.go:111"',
        ],
        [
          { op: 'replace', path: '/apiVersion', value: 'x/y/z' },
          'unexpected GroupVersion string: x/y/z',
        ],
      ] as const
    ).map(([operation, why]): [object, number, string] => [
      patchOf([operation]),
      500,
      `Internal error occurred: ${why}`,
    ]),
    ...(
      [
        [{ allowed: 'no' }, 'allowed of type bool'],
        [{ status: 'x' }, 'status of type v1.Status'],
        [{ patchType: 5 }, 'patchType of type v1.PatchType'],
        [{ warnings: 'x' }, 'warnings of type []string'],
      ] as const
    ).map(([response, where]): [object, number, string] => [
      response,
      500,
      `${failed} failed to call webhook: json: cannot unmarshal ${typeof Object.values(response)[0]} into Go struct field AdmissionResponse.response.${where}`,
    ]),
    [
      patchOf([{ op: 'add', path: '/data', value: 'x' }]),
      500,
      'Internal error occurred: json: cannot unmarshal string into Go struct field ConfigMap.data of type map[string]string',
    ],
    [
      patchOf([{ op: 'replace', path: '/metadata/namespace', value: 'x' }]),
      400,
      'the namespace of the provided object does not match the namespace sent on the request',
    ],
    [
      { allowed: false, status: { code: 200, message: 'no' } },
      400,
      'admission webhook "w.example.com" denied the request: no',
    ],
    [
      { allowed: false, status: { code: 422, reason: 'Invalid' } },
      422,
      'admission webhook "w.example.com" denied the request: Invalid',
    ],
  ]
  for (const [wrong, code, message] of cases) {
    answer = wrong
    const { body } = await create('a')
    t.match(body, { kind: 'Status', code })
    t.ok(body.message.startsWith(message), `${body.message} begins as ${message}`)
  }
})

t.test(
  'failurePolicy Ignore passes over failed calls, not over patches that do not fit',
  async (t) => {
    let answer: object = { uid: 'x', allowed: true }
    const hooks = [{ name: 'w', failurePolicy: 'Ignore' }]
    const { create } = await start(t, 'mutating', hooks, () => answer)
    t.equal((await create('a')).status, 201)
    answer = patchOf([{ op: 'test', path: '/data/k', value: 'other' }])
    t.match((await create('b')).body.message, 'testing value /data/k failed: test failed')
  },
)

t.test('its own certificate will do as a bundle, and slashes too many are none', async (t) => {
  const webhook = await startWebhook(t, (_review, path) => ({
    allowed: false,
    status: { message: path },
  }))
  const clientConfig = {
    url: `${webhook.clientConfig.url}/a%2Fb//`,
    caBundle: Buffer.from(webhook.certificate).toString('base64'),
  }
  const server = await startServer(t)
  await register(server, 'validating', { ...webhook, clientConfig }, [{ name: 'hook' }])
  const { body } = await call(server, {
    method: 'POST',
    path: maps,
    body: { metadata: { name: 'a' } },
  })
  t.equal(body.message, 'admission webhook "hook.example.com" denied the request: /a/b/hook')
})

t.test('a validating webhook may not patch; its warnings are handed on', async (t) => {
  let answer: object = { allowed: true, warnings: ['careful', '', 'two\nlines'] }
  const { create } = await start(t, 'validating', [{ name: 'w' }], () => answer)
  t.equal((await create('a')).headers.warning, '299 - "careful"')
  answer = patchOf([])
  t.match((await create('b')).body.message, 'validating webhook may not return response.patch')
})

t.test('owners that a webhook made unreadable are as they were, with a warning', async (t) => {
  let operation: object = {}
  const { server, create } = await start(t, 'mutating', [{ name: 'w' }], ({ object }) =>
    object.metadata.managedFields === undefined ? { allowed: true } : patchOf([operation]),
  )
  const entry = '/metadata/managedFields/0'
  const cases: [object, string | undefined][] = [
    [{ op: 'remove', path: `${entry}/apiVersion` }, 'apiVersion must not be empty'],
    [{ op: 'remove', path: `${entry}/fieldsType` }, 'missing fieldsType in managed fields entry 0'],
    [
      { op: 'replace', path: `${entry}/operation`, value: 'x' },
      'operation must be `Apply` or `Update`',
    ],
    [{ op: 'replace', path: `${entry}/manager`, value: 'other' }, undefined],
    [{ op: 'remove', path: '/metadata/managedFields' }, undefined],
  ]
  for (const [i, [given, problem]] of cases.entries()) {
    operation = given
    const answers = [
      await create(`a${i}`),
      await call(server, {
        method: 'PATCH',
        path: `${maps}/a${i}`,
        body: [{ op: 'add', path: '/data/x', value: 'y' }],
        headers: { 'content-type': 'application/json-patch+json' },
      }),
    ]
    for (const { status, body, headers } of problem === undefined ? answers.slice(0, 1) : answers) {
      t.ok(status < 300, body.message)
      t.equal(
        headers.warning,
        problem &&
          `299 - ".metadata.managedFields was in an invalid state after admission; this could be caused by an outdated mutating admission controller; please fix your requests: ${problem}"`,
      )
      if (problem !== undefined)
        t.match(body.metadata.managedFields, [
          { manager: 'unknown', operation: 'Update', apiVersion: 'v1', fieldsType: 'FieldsV1' },
        ])
    }
  }
})

t.test('a webhook that refuses to answer says why in a Status', async (t) => {
  let refusal: object = { kind: 'Status', apiVersion: 'v1', status: 'Failure', message: 'gone' }
  const { create } = await start(t, 'validating', [{ name: 'w' }], () => ({ refusal }))
  const failed =
    'Internal error occurred: failed calling webhook "w.example.com": failed to call webhook:'
  t.equal((await create('a')).body.message, `${failed} gone`)
  refusal = { ...refusal, status: 'Success' }
  const { message } = (await create('a')).body
  t.equal(message, `${failed} the server could not find the requested resource`)
})

t.test("details of a webhook's Status are written as Go writes them", async (t) => {
  const causes = [{ field: 'f', message: 'm', reason: 'r' }]
  const details = { causes, other: 1, name: 'n' }
  const denied = { allowed: false, status: { details } }
  const { create } = await start(t, 'validating', [{ name: 'w' }], () => denied)
  t.match(
    (await create('a')).text,
    '"details":{"name":"n","causes":[{"reason":"r","message":"m","field":"f"}]}',
  )
})

t.test('a condition that fails for one of a collection names none', async (t) => {
  const server = await startServer(t)
  const webhook = await startWebhook(t, () => ({ allowed: true }))
  await call(server, { method: 'POST', path: maps, body: { metadata: { name: 'a' } } })
  const matchConditions = [{ name: 'c', expression: 'oldObject.metadata.labels.none == "x"' }]
  await register(server, 'validating', webhook, [{ name: 'w', matchConditions }])
  const { body } = await call(server, { method: 'DELETE', path: maps })
  t.match(body.message, /^configmaps is forbidden: expression /)
})

const hasIPv6 = networkInterfaces().lo?.some(({ family }) => family === 'IPv6') ?? false
t.test(
  'a webhook may be at an address of IPv6',
  { skip: hasIPv6 ? false : 'no IPv6 on this machine' },
  async (t) => {
    const server = await startServer(t)
    const webhook = await startWebhook(t, () => ({ allowed: true }), '::1')
    await register(server, 'validating', webhook, [{ name: 'w' }])
    const body = { metadata: { name: 'a' } }
    const { status, text } = await call(server, { method: 'POST', path: maps, body })
    t.equal(status, 201, text)
    t.equal(webhook.requests.length, 1)
  },
)

t.test("a refusal is the webhook's own Status", async (t) => {
  const status = {
    metadata: { continue: 'x', resourceVersion: '7' },
    status: 'Weird',
    message: 'm',
    reason: 'R',
    code: 418,
  }
  const { create } = await start(t, 'validating', [{ name: 'w' }], () => ({
    allowed: false,
    status,
  }))
  const { text } = await create('a')
  t.equal(
    text,
    '{"kind":"Status","apiVersion":"v1","metadata":{"resourceVersion":"7","continue":"x"},"status":"Weird","message":"admission webhook \\"w.example.com\\" denied the request: m","reason":"R","code":418}\n',
  )
})

t.test('what an apply creates is in its namespace after admission, too', async (t) => {
  let operation: object = {}
  const { server } = await start(t, 'mutating', [{ name: 'w' }], () => patchOf([operation]))
  const apply = (name: string) =>
    call(server, {
      method: 'PATCH',
      path: `${maps}/${name}?fieldManager=m`,
      headers: { 'content-type': 'application/apply-patch+yaml' },
      body: { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name }, data: { k: 'v' } },
    })
  operation = { op: 'replace', path: '/metadata/namespace', value: 'other' }
  t.match((await apply('a')).body.message, 'does not match the namespace sent on the request')
  operation = { op: 'remove', path: '/metadata/namespace' }
  t.match(await apply('b'), { status: 201, body: { metadata: { namespace: 'default' } } })
  operation = { op: 'add', path: '/metadata/resourceVersion', value: '5' }
  t.equal((await apply('c')).status, 201)
})

t.test(
  'a custom resource stays what it is, and what cannot be read of its metadata is nothing',
  async (t) => {
    let operation: object = {}
    const group = 'patched.example.com'
    const resource = { group, resource: 'things' }
    const { server } = await start(t, 'mutating', [{ name: 'w', resource }], () =>
      patchOf([operation]),
    )
    const names = { plural: 'things', kind: 'Thing' }
    const versions = [versionOf('v1', textsOf(['a']))]
    const body = definitionOf({ group, scope: 'Namespaced', names, versions })
    const definitions = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions'
    await call(server, { method: 'POST', path: definitions, body })
    const path = `/apis/${group}/v1/namespaces/default/things`
    await eventually('things', async () => (await call(server, { path })).status === 200)
    const create = async (change: object) => {
      operation = change
      const thing = { apiVersion: `${group}/v1`, kind: 'Thing', metadata: { generateName: 'a' } }
      return (await call(server, { method: 'POST', path, body: thing })).body
    }
    const set = (field: string, value: unknown) => ({ op: 'replace', path: `/${field}`, value })
    const other = (gvk: string) =>
      `${gvk} is unstructured and is not suitable for converting to "${group}/v1"`
    t.equal((await create(set('apiVersion', 'v9'))).message, other('/v9, Kind=Thing'))
    t.equal((await create({ op: 'remove', path: '/apiVersion' })).message, other('/, Kind=Thing'))
    t.equal(
      (await create(set('apiVersion', `${group}/v2`))).message,
      `request to convert CR from an invalid group/version: ${group}/v2`,
    )
    t.match(
      (await create(set('apiVersion', 'x/y/z'))).message,
      'unexpected GroupVersion string: x/y/z',
    )
    t.match((await create({ op: 'remove', path: '/kind' })).message, "Object 'Kind' is missing in")
    const unread = {
      labels: { a: 1 },
      annotations: 'x',
      finalizers: [1],
      ownerReferences: 'x',
      generateName: 'kept',
      uid: 5,
    }
    const { metadata } = await create(set('metadata', unread))
    t.match(metadata.name, /^kept/)
    for (const field of ['labels', 'annotations', 'finalizers', 'ownerReferences'])
      t.equal(metadata[field], undefined, field)
  },
)

t.test('connections are kept, and a review that came too late for one has another', async (t) => {
  let breaks = 0
  const hooks = [{ name: 'hook' }]
  const { webhook, create } = await start(t, 'validating', hooks, () => {
    if (breaks-- > 0) webhook.requests.at(-1)!.socket.destroy()
    return { allowed: true }
  })
  const connections = (): number => new Set(webhook.requests.map(({ socket }) => socket)).size
  for (const name of ['a', 'b', 'c']) t.equal((await create(name)).status, 201)
  t.equal(connections(), 1)
  breaks = 1
  t.equal((await create('d')).status, 201)
  t.same([connections(), webhook.requests.length], [2, 5])
  breaks = 2
  const { status, body } = await create('e')
  t.equal(status, 500)
  t.match(body.message, /failed to call webhook: Post ".*": EOF$/)
})

t.test('a webhook that has moved is asked where it is, as Go does it', async (t) => {
  const moves: Record<string, [code: number, location: string]> = {
    hook: [307, '/there?a'],
    there: [308, '/and-there'],
  }
  const { webhook, create } = await start(t, 'validating', [{ name: 'hook' }], (_, path) =>
    moves[path] === undefined ? { allowed: true } : { moved: moves[path] },
  )
  t.equal((await create('a')).status, 201)
  t.same(
    webhook.requests.map(({ method, url }) => [method, url]),
    [
      ['POST', '/hook?timeout=30s'],
      ['POST', '/there?a'],
      ['POST', '/and-there'],
    ],
  )
  t.same(webhook.reviews[2], webhook.reviews[0])
  moves['and-there'] = [307, 'and-there']
  const { body } = await create('b')
  t.match(body.message, /: failed to call webhook: Post "and-there": stopped after 10 redirects$/)
  moves.hook = [301, '/there']
  await create('c')
  t.equal(webhook.requests.at(-1)!.method, 'GET', 'which is what becomes of a POST then')
  moves.there = [302, 'http://127.0.0.1/'] // What is not encrypted is not asked.
  t.match((await create('d')).body.message, /responded with the status code 302/)
})

t.test('how calls of webhooks ended is counted', async (t) => {
  const hooks = [{ name: 'hook' }, { name: 'open', failurePolicy: 'Ignore' }]
  const answers: Record<string, object> = {
    ok: { allowed: true },
    denied: { allowed: false, status: { code: 999 } },
    failing: { refusal: 'gone' },
    strange: { allowed: true, patchType: 'JSONPatch' },
  }
  const { server, create } = await start(t, 'validating', hooks, ({ name }, hook) =>
    hook === 'open' ? { refusal: 'away' } : answers[name]!,
  )
  for (const name of Object.keys(answers)) await create(name)
  const { text } = await call(server, { path: '/metrics' })
  const lines = text.match(/^apiserver_admission_webhook_(?!admission_duration)\w+\{.*$/gm)!
  const of = (metric: string, labels: string, count: number) =>
    `apiserver_admission_webhook_${metric}{${labels}} ${count}`
  const hook = 'name="hook.example.com",operation="CREATE"'
  const open = 'name="open.example.com"'
  const validating = 'type="validating"'
  const refused = (type: string, code: number) =>
    of('rejection_count', `error_type="${type}",${hook},rejection_code="${code}",${validating}`, 1)
  t.same(lines.sort(), [
    of('fail_open_count', `${open},${validating}`, 4),
    refused('calling_webhook_error', 404),
    refused('calling_webhook_error', 503),
    refused('no_error', 600),
    of('request_total', `code="200",${hook},rejected="false",${validating}`, 1),
    of('request_total', `code="404",${hook},rejected="true",${validating}`, 1),
    of('request_total', `code="404",${open},operation="CREATE",rejected="false",${validating}`, 4),
    of('request_total', `code="503",${hook},rejected="true",${validating}`, 1),
    of('request_total', `code="600",${hook},rejected="true",${validating}`, 1),
  ])
  t.match(
    text,
    `apiserver_admission_webhook_admission_duration_seconds_count{${hook},rejected="true",${validating}} 3\n`,
  )
})
