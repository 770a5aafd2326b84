/** Bearer tokens that Secrets hold or another server knows, and how long those of ServiceAccounts last. */
import { generateKeyPairSync } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import path from 'node:path'
import { decodeJwt, decodeProtectedHeader } from 'jose'
import t from 'tap'
import { limits } from '#limits'
import type { Server } from '#src/index.js'
import { createServer } from '../create-server.js'
import { startReviewer } from './reviewer.js'
import { call, startServer } from './start-server.js'

const reviews = '/apis/authentication.k8s.io/v1'

/** Who a token is to the server; undefined where it is nobody's. */
const whoIs = async (server: Server, token: string) => {
  const path = `${reviews}/selfsubjectreviews`
  const { status, body } = await call(server, { method: 'POST', path, token, body: {} })
  return status === 201 ? body.status.userInfo : undefined
}

const review = async (server: Server, token: string, audiences?: string[]) => {
  const spec = { token, ...(audiences && { audiences }) }
  const path = `${reviews}/tokenreviews`
  return (await call(server, { method: 'POST', path, body: { spec } })).body.status
}

t.test('a token that nobody here knows is another server’s', async (t) => {
  let failures = 0
  const { asked, configFile } = await startReviewer(t, ({ spec: { token } }, response) => {
    if (token === 'ada')
      return {
        authenticated: true,
        user: { username: 'ada', uid: 'u1', groups: ['a', 'b'], extra: { 'x.y/z': ['1', '2'] } },
      }
    if (token === 'elsewhere')
      return { authenticated: true, user: { username: 'eve' }, audiences: ['elsewhere'] }
    if (token === 'many')
      return { authenticated: true, user: { username: 'eve' }, audiences: ['b', 'a', 'c'] }
    if (token === 'bad') return { authenticated: false, error: 'no such token' }
    if (token === 'gone') response.statusCode = 404
    if (token === 'shaky' && failures++ === 0) response.statusCode = 500
    else if (token === 'shaky') return { authenticated: true, user: { username: 'shaky' } }
    return token === 'nobody' ? {} : undefined
  })
  const server = await startServer(t, {
    authenticationTokenWebhook: { configFile, version: 'v1' },
    apiAudiences: ['here'],
  })
  t.same(await whoIs(server, 'ada'), {
    username: 'ada',
    uid: 'u1',
    groups: ['a', 'b', 'system:authenticated'],
    extra: { 'x.y/z': ['1', '2'] },
  })
  t.same(asked, [
    {
      url: '/hook?timeout=30s',
      kind: 'TokenReview',
      apiVersion: 'authentication.k8s.io/v1',
      metadata: {},
      spec: { token: 'ada', audiences: ['here'] },
      status: { user: {} },
    },
  ])
  for (const token of ['elsewhere', 'bad', 'gone', 'nobody'])
    t.equal(await whoIs(server, token), undefined, token)
  t.same(await review(server, 'elsewhere', ['elsewhere', 'x']), {
    authenticated: true,
    user: { username: 'eve', groups: ['system:authenticated'] },
    audiences: ['elsewhere'],
  })
  t.same((await review(server, 'many', ['x', 'a', 'b'])).audiences, ['b', 'a'])
  t.match(await review(server, 'ada lovelace'), { user: { username: 'ada' } })
  t.same(await review(server, ' ada', ['x']), {
    authenticated: true,
    user: { username: 'system:anonymous', groups: ['system:unauthenticated'] },
    audiences: ['x'],
  })
  t.match(await review(server, 'ada', ['x']), { error: 'invalid bearer token' })
  t.same(await review(server, 'bad'), {
    user: {},
    error: '[invalid bearer token, no such token]',
  })
  t.same(await review(server, 'gone'), {
    user: {},
    error: '[invalid bearer token, the server could not find the requested resource]',
  })
  t.match(await whoIs(server, 'shaky'), { username: 'shaky' }, 'what fails for once is tried again')
})

t.test('answers about a token are kept for a while, failures are not', async (t) => {
  let now = Date.now()
  const { asked, configFile } = await startReviewer(t, ({ spec: { token } }, response) => {
    if (token === 'fails') response.statusCode = 404
    return { authenticated: token === 'ada', user: { username: token } }
  })
  const server = await startServer(t, {
    authenticationTokenWebhook: { configFile, cacheTtlMs: 60_000 },
    clock: { now: () => now },
  })
  const askedFor = async (token: string) => {
    asked.length = 0
    await whoIs(server, token)
    return asked.length
  }
  for (const token of ['ada', 'nobody']) {
    t.equal(await askedFor(token), 1)
    t.equal(await askedFor(token), 0)
  }
  t.equal(await askedFor('fails'), 1)
  t.equal(await askedFor('fails'), 1)
  now += 60_001
  for (const token of ['ada', 'nobody']) t.equal(await askedFor(token), 1)
  asked.length = 0
  const both = await Promise.all([whoIs(server, 'bob'), whoIs(server, 'bob')])
  t.same([both.length, asked.length], [2, 1], 'who asks meanwhile waits for the same answer')
})

t.test('a server that is away knows no token, and the others go on', async (t) => {
  const { configFile, close } = await startReviewer(t, () => ({}))
  close()
  const server = await startServer(t, { authenticationTokenWebhook: { configFile } })
  t.equal(await whoIs(server, 'ada'), undefined)
  t.match(await review(server, 'ada'), { error: /connect: connection refused\]$/ })
  t.match(await whoIs(server, server.adminToken), { username: 'admin' })
})

t.test('Secrets of kube-system let new nodes join', async (t) => {
  const options = { authorizationModes: ['AlwaysAllow' as const], enableBootstrapTokenAuth: true }
  let laterMs = 0
  const clock = { now: () => Date.now() + laterMs }
  const server = await startServer(t, { ...options, clock })
  const join = async (id: string, data: Record<string, string>, type?: string) => {
    const name = `bootstrap-token-${id}`
    const stringData = {
      'token-id': id,
      'token-secret': '0123456789abcdef',
      'usage-bootstrap-authentication': 'true',
      ...data,
    }
    const body = {
      metadata: { name },
      type: type ?? 'bootstrap.kubernetes.io/token',
      stringData,
    }
    const path = '/api/v1/namespaces/kube-system/secrets'
    t.equal((await call(server, { method: 'POST', path, body })).status, 201)
    return whoIs(server, `${id}.0123456789abcdef`)
  }
  t.same(await join('plain0', {}), {
    username: 'system:bootstrap:plain0',
    groups: ['system:bootstrappers', 'system:authenticated'],
  })
  const groups = 'system:bootstrappers:zz,system:bootstrappers:aa'
  t.match(await join('groups', { 'auth-extra-groups': groups }), {
    groups: [
      'system:bootstrappers',
      'system:bootstrappers:aa',
      'system:bootstrappers:zz',
      'system:authenticated',
    ],
  })
  t.ok(await join('future', { expiration: '2099-01-01T00:00:00.5+02:00' }))
  const refused: Record<string, Record<string, string>> = {
    others: { 'auth-extra-groups': 'system:masters' },
    past00: { expiration: '2020-01-01T00:00:00Z' },
    nodate: { expiration: '2099-01-01' },
    unused: { 'usage-bootstrap-authentication': 'yes' },
    wrong0: { 'token-secret': '0123456789abcdeg' },
    named0: { 'token-id': 'plain0' },
  }
  for (const [id, data] of Object.entries(refused)) t.equal(await join(id, data), undefined, id)
  t.equal(await join('opaque', {}, 'Opaque'), undefined)
  const gone = '/api/v1/namespaces/kube-system/secrets/bootstrap-token-plain0'
  await call(server, { method: 'DELETE', path: gone })
  laterMs = limits.goodTokenKeptMs
  t.equal(await whoIs(server, 'plain0.0123456789abcdef'), undefined)
  const without = await startServer(t, { ...options, enableBootstrapTokenAuth: false })
  t.equal(await whoIs(without, 'future.0123456789abcdef'), undefined)
})

t.test('how long a ServiceAccount’s token holds, and for whom', async (t) => {
  const issuers = ['https://new.example', 'https://old.example']
  const server = await startServer(t, {
    serviceAccountIssuer: issuers,
    serviceAccountMaxTokenExpirationMs: 7_200_000,
    disableAdmissionPlugins: ['ServiceAccount'],
  })
  const inDefault = '/api/v1/namespaces/default'
  const post = (path: string, body: object) =>
    call(server, { method: 'POST', path: `${inDefault}/${path}`, body })
  await post('serviceaccounts', { metadata: { name: 'sa' } })
  const spec = { serviceAccountName: 'sa', containers: [{ name: 'c', image: 'i' }] }
  t.equal((await post('pods', { metadata: { name: 'p' }, spec })).status, 201)
  const ask = async (asked: object) => {
    const { headers, body } = await post('serviceaccounts/sa/token', { spec: asked })
    const claims = decodeJwt(body.status.token)
    const { warnafter } = claims['kubernetes.io'] as { warnafter?: number }
    return {
      iss: claims.iss,
      aud: claims.aud,
      seconds: claims.exp! - claims.iat!,
      warnsAfter: warnafter && warnafter - claims.iat!,
      toldSeconds: body.spec.expirationSeconds,
      warning: headers.warning,
    }
  }
  const boundObjectRef = { kind: 'Pod', apiVersion: 'v1', name: 'p' }
  const year = 365 * 24 * 3600
  t.match(await ask({ expirationSeconds: 3607, boundObjectRef }), {
    iss: issuers[0],
    aud: issuers,
    seconds: year,
    warnsAfter: 3607,
    toldSeconds: 3607,
  })
  for (const asked of [
    { expirationSeconds: 3608, boundObjectRef },
    { expirationSeconds: 3607 },
    { expirationSeconds: 3607, boundObjectRef, audiences: ['vault'] },
  ])
    t.match(await ask(asked), { seconds: asked.expirationSeconds, warnsAfter: undefined })
  t.match(await ask({ expirationSeconds: 10_000 }), {
    seconds: 7200,
    toldSeconds: 7200,
    warning: '299 - "requested expiration of 10000 seconds shortened to 7200 seconds"',
  })
})

t.test('a key of any curve signs tokens, and a file may have several that verify', async (t) => {
  const folder = t.testdir()
  const keyFile = (name: string, ...texts: string[]): string => {
    const file = path.join(folder, name)
    writeFileSync(file, texts.join(''))
    return file
  }
  const pair = (namedCurve: string) => {
    const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve })
    return {
      privatePem: privateKey.export({ type: 'sec1', format: 'pem' }) as string,
      publicPem: publicKey.export({ type: 'spki', format: 'pem' }) as string,
    }
  }
  const storage = `level:${path.join(folder, 'db')}`
  const accounts = '/api/v1/namespaces/default/serviceaccounts'
  const tokens: string[] = []
  const publicPems: string[] = []
  for (const [curve, algorithm] of [
    ['P-384', 'ES384'],
    ['P-521', 'ES512'],
  ] as const) {
    const { privatePem, publicPem } = pair(curve)
    publicPems.push(publicPem)
    const parameters = '-----BEGIN EC PARAMETERS-----\nBgUrgQQAIg==\n-----END EC PARAMETERS-----\n'
    const server = await startServer(t, {
      storage,
      serviceAccountSigningKeyFile: keyFile(algorithm, parameters, privatePem),
    })
    const post = (path: string, body: object) => call(server, { method: 'POST', path, body })
    await post(accounts, { metadata: { name: 'sa' } })
    const { token } = (await post(`${accounts}/sa/token`, { spec: {} })).body.status
    t.equal(decodeProtectedHeader(token).alg, algorithm)
    t.match(await whoIs(server, token), { username: 'system:serviceaccount:default:sa' })
    const { body } = await call(server, { path: '/openid/v1/jwks' })
    t.match(body.keys, [{ kty: 'EC', crv: curve, alg: algorithm }])
    tokens.push(token)
    await server.close()
  }
  const files = { serviceAccountKeyFiles: [keyFile('both', ...publicPems)] }
  const server = await startServer(t, { storage, ...files })
  for (const token of tokens)
    t.match(await whoIs(server, token), { username: 'system:serviceaccount:default:sa' })
  const empty = keyFile('none', publicPems[0]!.replaceAll('PUBLIC', 'NO'))
  const damaged = keyFile('damaged', 'no key')
  for (const [options, message] of [
    [
      { serviceAccountKeyFiles: [damaged] },
      `error reading public key file ${damaged}: data does not contain any valid RSA or ECDSA public keys`,
    ],
    [
      { serviceAccountSigningKeyFile: empty },
      `failed to parse service-account-issuer-key-file: error reading private key file ${empty}: data does not contain a valid RSA or ECDSA private key`,
    ],
  ] as const)
    await t.rejects(createServer({ storage: 'memory:', port: 0, ...options }), { message })
})

t.test('tokens of a former issuer hold for as long as it is named', async (t) => {
  const storage = `level:${path.join(t.testdir(), 'db')}`
  const inDefault = '/api/v1/namespaces/default/serviceaccounts'
  const start = (serviceAccountIssuer: string | string[]) =>
    startServer(t, { storage, serviceAccountIssuer, apiAudiences: ['api'] })
  const former = await start('https://old.example')
  const post = (path: string, body: object) => call(former, { method: 'POST', path, body })
  await post(inDefault, { metadata: { name: 'sa' } })
  const { token } = (await post(`${inDefault}/sa/token`, { spec: {} })).body.status
  await former.close()
  const named = await start(['https://new.example', 'https://old.example'])
  t.match(await whoIs(named, token), { username: 'system:serviceaccount:default:sa' })
  await named.close()
  t.equal(await whoIs(await start('https://new.example'), token), undefined)
})
