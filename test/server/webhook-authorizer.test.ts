/** Other servers that say who may do what. */
import { readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import t, { type Test } from 'tap'
import type { Server, ServerOptions } from '#src/index.js'
import { eventually } from '../eventually.js'
import { type Review, startReviewer } from './reviewer.js'
import { call, startServer } from './start-server.js'

const pods = '/api/v1/namespaces/default/pods'
const group = '/apis/authorization.k8s.io/v1'

/** Decides by the name of the object that is asked for. */
const answer = ({ spec }: Review, response: { statusCode: number }): object | undefined => {
  const name: string = spec.resourceAttributes?.name ?? spec.nonResourceAttributes?.path ?? ''
  if (name === 'allowed') return { allowed: true, reason: 'as you like' }
  if (name === 'denied') return { allowed: false, denied: true, reason: 'not you' }
  if (name === 'both') return { allowed: true, denied: true }
  if (name === 'failing') response.statusCode = 404
  return name === 'failing' ? undefined : { allowed: false, reason: 'ask others' }
}

const ada = { token: 'adatoken' }

const serverFor = (t: Test, folder: string, options: ServerOptions): Promise<Server> => {
  const tokenAuthFile = path.join(folder, 'tokens.csv')
  writeFileSync(tokenAuthFile, 'adatoken,ada,u1,"a,b"\n')
  return startServer(t, { tokenAuthFile, ...options })
}

const startWebhookMode = async (t: Test, options: ServerOptions = {}) => {
  const reviewer = await startReviewer(t, answer)
  const { folder, configFile } = reviewer
  const server = await serverFor(t, folder, {
    authorizationModes: ['Webhook', 'RBAC'],
    authorizationWebhook: { configFile, version: 'v1' },
    ...options,
  })
  const get = async (name: string) => {
    const { status, text, body } = await call(server, { path: `${pods}/${name}`, ...ada })
    return [status, body?.message ?? text.trim()]
  }
  const access = async (spec: object) => {
    const path = `${group}/subjectaccessreviews`
    return (await call(server, { method: 'POST', path, body: { spec } })).body.status
  }
  return { ...reviewer, server, get, access }
}

const forbidden = (name: string) =>
  `pods "${name}" is forbidden: User "ada" cannot get resource "pods" in API group "" in the namespace "default"`

t.test('a request is what the webhook says it is', async (t) => {
  const { server, asked, get } = await startWebhookMode(t)
  t.same(await get('allowed'), [404, 'pods "allowed" not found'])
  t.same(asked, [
    {
      url: '/hook?timeout=30s',
      kind: 'SubjectAccessReview',
      apiVersion: 'authorization.k8s.io/v1',
      metadata: {},
      spec: {
        resourceAttributes: {
          namespace: 'default',
          verb: 'get',
          version: 'v1',
          resource: 'pods',
          name: 'allowed',
        },
        user: 'ada',
        groups: ['a', 'b', 'system:authenticated'],
        uid: 'u1',
      },
      status: { allowed: false },
    },
  ])
  t.same(await get('denied'), [403, `${forbidden('denied')}: not you`])
  t.same(await get('other'), [403, `${forbidden('other')}: ask others`])
  const failure = (name: string, why: string) => [
    500,
    `Internal Server Error: "${pods}/${name}": ${why}`,
  ]
  const notFound = 'the server could not find the requested resource'
  t.same(await get('failing'), failure('failing', notFound))
  const both = 'webhook subject access review returned both allow and deny response'
  t.same(await get('both'), failure('both', both))
  asked.length = 0
  t.equal((await call(server, { path: `${pods}/other` })).status, 404)
  t.same(asked, [], 'the privileged are not asked about')
})

t.test('a webhook that has ended a kept connection is asked on another', async (t) => {
  let breaks = 0
  const { folder, configFile, asked } = await startReviewer(t, (review, response) => {
    if (breaks-- > 0) response.destroy()
    return answer(review, response)
  })
  const server = await serverFor(t, folder, {
    authorizationModes: ['Webhook'],
    authorizationWebhook: { configFile, version: 'v1' },
  })
  const get = async (name: string) =>
    (await call(server, { path: `${pods}/${name}`, ...ada })).status
  t.equal(await get('allowed'), 404)
  breaks = 1
  t.equal(await get('denied'), 403)
  t.equal(asked.length, 3)
})

t.test('a webhook is sent the selectors of a list', async (t) => {
  const { server, asked } = await startWebhookMode(t)
  const labels = encodeURIComponent('b in (y,x),a,!c,d!=e,n>3')
  const query = `labelSelector=${labels}&fieldSelector=spec.nodeName%3Dn,status.phase!%3Dx`
  await call(server, { path: `${pods}?${query}`, ...ada })
  t.same(asked[0].spec.resourceAttributes, {
    namespace: 'default',
    verb: 'list',
    version: 'v1',
    resource: 'pods',
    fieldSelector: {
      requirements: [
        { key: 'spec.nodeName', operator: 'In', values: ['n'] },
        { key: 'status.phase', operator: 'NotIn', values: ['x'] },
      ],
    },
    labelSelector: {
      requirements: [
        { key: 'a', operator: 'Exists' },
        { key: 'b', operator: 'In', values: ['x', 'y'] },
        { key: 'c', operator: 'DoesNotExist' },
        { key: 'd', operator: 'NotIn', values: ['e'] },
      ],
    },
  })
})

t.test('reviews show what went wrong, and rules are incomplete', async (t) => {
  const { server, asked, access } = await startWebhookMode(t)
  const resource = { verb: 'get', resource: 'pods' }
  t.same(await access({ user: 'eve', resourceAttributes: { ...resource, name: 'failing' } }), {
    allowed: false,
    evaluationError: 'the server could not find the requested resource',
  })
  t.same(await access({ user: 'eve', nonResourceAttributes: { path: 'denied', verb: 'get' } }), {
    allowed: false,
    denied: true,
    reason: 'not you',
  })
  const requirements = [
    { key: 'b', operator: 'NotIn', values: ['z', 'y'] },
    { key: 'a', operator: 'Near' },
  ]
  const labelSelector = { requirements }
  const partly = {
    user: 'eve',
    resourceAttributes: { ...resource, name: 'failing', labelSelector },
  }
  t.match(await access(partly), {
    evaluationError:
      'the server could not find the requested resource; spec.resourceAttributes.labelSelector partially ignored due to parse error',
  })
  t.same(asked.at(-1).spec, {
    resourceAttributes: {
      verb: 'get',
      version: '*',
      resource: 'pods',
      name: 'failing',
      labelSelector: { requirements: [requirements[0]] },
    },
    user: 'eve',
  })
  const { body } = await call(server, {
    method: 'POST',
    path: `${group}/selfsubjectrulesreviews`,
    body: { spec: { namespace: 'default' } },
    headers: { 'impersonate-user': 'ada' },
  })
  t.equal(body.status.incomplete, true)
  t.equal(body.status.evaluationError, 'webhook authorizer does not support user rule resolution')
})

t.test('answers hold, those that allow longer; errors, and long questions, do not', async (t) => {
  let now = Date.now()
  const { configFile, folder, asked } = await startReviewer(t, answer)
  const server = await serverFor(t, folder, {
    authorizationModes: ['Webhook'],
    authorizationWebhook: {
      configFile,
      cacheAuthorizedTtlMs: 60_000,
      cacheUnauthorizedTtlMs: 5_000,
    },
    clock: { now: () => now },
  })
  const askedFor = async (name: string) => {
    asked.length = 0
    await call(server, { path: `${pods}/${name}`, ...ada })
    return asked.length
  }
  for (const name of ['allowed', 'denied', 'other']) {
    t.equal(await askedFor(name), 1)
    t.equal(await askedFor(name), 0)
  }
  t.equal(asked.length, 0)
  now += 5_001
  t.same([await askedFor('allowed'), await askedFor('denied'), await askedFor('other')], [0, 1, 1])
  now += 60_000
  t.equal(await askedFor('allowed'), 1)
  for (const name of ['failing', 'x'.repeat(10_000)])
    t.same([await askedFor(name), await askedFor(name)], [1, 1])
  t.match(asked[0], {
    apiVersion: 'authorization.k8s.io/v1beta1',
    spec: { group: ['a', 'b', 'system:authenticated'] },
  })
})

t.test('a webhook that is away stops nobody whom another authorizer allows', async (t) => {
  const { configFile, folder } = await startReviewer(t, answer)
  // Nobody listens at port 1.
  const named = readFileSync(configFile, 'utf8')
  writeFileSync(configFile, named.replace(/127\.0\.0\.1:\d+/, '127.0.0.1:1'))
  const options: ServerOptions = { authorizationWebhook: { configFile } }
  const away = await serverFor(t, folder, { ...options, authorizationModes: ['Webhook', 'RBAC'] })
  t.equal((await call(away, { path: '/version', ...ada })).status, 200)
  const { status, text } = await call(away, { path: pods, ...ada })
  t.equal(status, 500)
  t.match(text, /: dial tcp 127\.0\.0\.1:\d+: connect: connection refused\n$/)
})

/** A file with webhooks of these settings, and RBAC after them. */
const configure = (folder: string, ...webhooks: object[]): string => {
  const authorizers = webhooks.map((webhook, i) => ({ type: 'Webhook', name: `w${i}`, webhook }))
  const file = path.join(folder, 'authorization.json')
  writeFileSync(
    file,
    JSON.stringify({
      apiVersion: 'apiserver.config.k8s.io/v1',
      kind: 'AuthorizationConfiguration',
      authorizers: [...authorizers, { type: 'RBAC', name: 'rbac' }],
    }),
  )
  return file
}

const webhook = (kubeConfigFile: string, settings: object = {}, ...conditions: string[]) => ({
  timeout: '29500ms',
  subjectAccessReviewVersion: 'v1',
  matchConditionSubjectAccessReviewVersion: 'v1',
  failurePolicy: 'NoOpinion',
  connectionInfo: { type: 'KubeConfigFile', kubeConfigFile },
  matchConditions: conditions.map((expression) => ({ expression })),
  ...settings,
})

t.test('webhooks of a file are asked where their conditions hold', async (t) => {
  const { configFile, folder, asked } = await startReviewer(t, answer)
  const isResource = 'has(request.resourceAttributes)'
  const strict = webhook(
    configFile,
    { failurePolicy: 'Deny' },
    `${isResource} && request.resourceAttributes.namespace != 'kube-public'`,
    `request.resourceAttributes.name != 'odd' || request.extra['x'][0] == 'y'`,
  )
  const lenient = webhook(configFile, { subjectAccessReviewVersion: 'v1beta1' }, isResource)
  const server = await serverFor(t, folder, {
    authorizationConfigFile: configure(folder, strict, lenient),
  })
  const ask = async (path: string) => {
    asked.length = 0
    const { status, text } = await call(server, { path, ...ada })
    const versions = asked.map(({ apiVersion }) => apiVersion.split('/')[1])
    return [status, versions, status === 500 ? text.trim() : '']
  }
  t.same(await ask('/version'), [200, [], ''])
  t.same(await ask(`${pods}/allowed`), [404, ['v1'], ''])
  t.same(await ask(`${pods}/denied`), [403, ['v1'], ''])
  t.same(await ask(`${pods}/other`), [403, ['v1', 'v1beta1'], ''])
  t.same(await ask('/api/v1/namespaces/kube-public/pods/other'), [403, ['v1beta1'], ''])
  t.equal(asked[0].url, '/hook?timeout=29.5s')
  const failing = `${pods}/failing`
  const notFound = 'the server could not find the requested resource'
  t.same(await ask(failing), [500, ['v1'], `Internal Server Error: "${failing}": ${notFound}`])
  const inPublic = failing.replace('default', 'kube-public')
  t.same(await ask(inPublic), [
    500,
    ['v1beta1'],
    `Internal Server Error: "${inPublic}": ${notFound}`,
  ])
  const why = `cel evaluation error: expression 'request.resourceAttributes.name != 'odd' || request.extra['x'][0] == 'y'' resulted in error: no such key: x`
  t.same(await ask(`${pods}/odd`), [500, [], `Internal Server Error: "${pods}/odd": ${why}`])
})

t.test('a file is read again when it changes, and left as it was where it is wrong', async (t) => {
  const { configFile, folder, connections } = await startReviewer(t, answer)
  const file = configure(folder, webhook(configFile, {}, "request.user != 'ada'"))
  const server = await serverFor(t, folder, { authorizationConfigFile: file })
  const get = async () => (await call(server, { path: `${pods}/allowed`, ...ada })).status
  t.equal(await get(), 403)
  configure(folder, webhook(configFile, {}, "request.user == 'ada'"))
  await eventually('the webhook is asked', async () => (await get()) === 404)
  configure(folder, webhook(configFile, { timeout: '1h' }, "request.user != 'ada'"))
  writeFileSync(file, '{}')
  t.equal(await get(), 404)
  configure(folder, webhook(configFile, {}, 'false'))
  await eventually('it is asked no more', async () => (await get()) === 403)
  await eventually('nothing is kept open', async () => (await connections()) === 0)
})

t.test('modes and files that do not fit are told in the words of kube-apiserver', async (t) => {
  const { configFile, folder } = await startReviewer(t, answer)
  const authorizationWebhook = { configFile }
  const cases: [ServerOptions, string][] = [
    [
      { authorizationModes: ['Webhook'] },
      "authorization-mode Webhook's authorization config file not passed",
    ],
    [
      { authorizationModes: ['RBAC'], authorizationWebhook },
      'cannot specify --authorization-webhook-config-file without mode Webhook',
    ],
    [
      { authorizationModes: ['RBAC', 'RBAC'] },
      'authorization-mode ["RBAC" "RBAC"] has mode specified more than once',
    ],
    ...['Foo', 'toString'].map((mode): [ServerOptions, string] => [
      { authorizationModes: ['RBAC', mode as 'RBAC'] },
      `authorization-mode "${mode}" is not a valid mode`,
    ]),
    [
      { authorizationConfigFile: configure(folder, webhook(configFile, { timeout: '1h' })) },
      'authorizers[0].timeout: Invalid value: "1h0m0s": must be > 0s and <= 30s',
    ],
  ]
  for (const [options, message] of cases) await t.rejects(startServer(t, options), { message })
})
