/** The file of --authentication-config: users made of claims by expressions, who may be anonymous where, and files that change. */
import { once } from 'node:events'
import { renameSync, writeFileSync } from 'node:fs'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import path from 'node:path'
import type { JWTPayload } from 'jose'
import t, { type Test } from 'tap'
import { systemClock } from '#api/clock.js'
import { allAlgorithms, JwtIssuers } from '#server/authentication/jwt-issuers.js'
import { openAuthentication } from '#server/authentication/open-authentication.js'
import { followFile, NotYetUsable } from '#server/follow-file.js'
import { StartedParts } from '#server/started-parts.js'
import { eventually } from '../eventually.js'
import { call, startServer } from './start-server.js'
import { startTokenIssuer, type TokenIssuer } from './token-issuer.js'

const kind = { apiVersion: 'apiserver.config.k8s.io/v1', kind: 'AuthenticationConfiguration' }

const issuerOf = ({ url, authority }: TokenIssuer) => ({
  url,
  certificateAuthority: authority,
  audiences: ['kubelevel', 'other'],
  audienceMatchPolicy: 'MatchAny',
})

const startWith = (t: Test, configuration: object) => {
  const authenticationConfigFile = path.join(t.testdir(), 'authentication.json')
  writeFileSync(authenticationConfigFile, JSON.stringify({ ...kind, ...configuration }))
  return startServer(t, { authenticationConfigFile })
}

t.test('expressions make a user from claims, and say why there is none', async (t) => {
  const issuer = await startTokenIssuer(t)
  const server = await startWith(t, {
    jwt: [
      {
        issuer: issuerOf(issuer),
        claimMappings: {
          username: { expression: '"oidc:" + claims.sub' },
          groups: { expression: 'claims.?roles.orValue([])' },
          uid: { expression: 'string(claims.?number.orValue(0.5))' },
          extra: [
            {
              key: 'example.com/deep',
              valueExpression:
                'has(claims.a__dot__b__dash__c) ? claims.a__dot__b__dash__c.d__slash__e : null',
            },
            { key: 'example.com/none', valueExpression: '""' },
          ],
        },
        claimValidationRules: [
          { expression: 'claims.?hd.orValue("x") == "x"', message: 'hd must be x' },
          { claim: 'aud_of', requiredValue: '' },
        ],
        userValidationRules: [
          { expression: '!user.username.startsWith("oidc:system:")', message: 'reserved' },
          { expression: 'user.groups.all(group, group != "masters")' },
        ],
      },
    ],
  })
  const review = async (claims: JWTPayload) => {
    const body = { spec: { token: await issuer.token({ aud_of: '', ...claims }) } }
    const path = '/apis/authentication.k8s.io/v1/tokenreviews'
    const { status } = (await call(server, { method: 'POST', path, body })).body
    return status.user.username === undefined ? status.error : status.user
  }
  await eventually('the provider is known', async () => typeof (await review({})) === 'object')
  t.same(await review({ roles: ['a', ''], number: 7, 'a.b-c': { 'd/e': ['deep', ''] } }), {
    username: 'oidc:ada',
    uid: '7',
    groups: ['a', 'system:authenticated'],
    extra: { 'example.com/deep': ['deep'] },
  })
  t.match(await review({ aud: ['other', 'x'], roles: 'one' }), {
    uid: '0.5',
    groups: ['one', 'system:authenticated'],
  })
  const refused: [JWTPayload, string][] = [
    [
      { hd: 'y' },
      `oidc: error evaluating claim validation expression: validation expression 'claims.?hd.orValue("x") == "x"' failed: hd must be x`,
    ],
    [
      { sub: 'system:x' },
      `oidc: error evaluating user info validation rule: validation expression '!user.username.startsWith("oidc:system:")' failed: reserved`,
    ],
    [
      { roles: ['masters'] },
      `oidc: error evaluating user info validation rule: validation expression 'user.groups.all(group, group != "masters")' failed: `,
    ],
    [
      { roles: [1] },
      'oidc: error evaluating group claim expression: expression must return a string or a list of strings',
    ],
    [
      { sub: undefined },
      `oidc: error evaluating username claim expression: expression '"oidc:" + claims.sub' resulted in error: no such key: sub`,
    ],
    [{ aud_of: 'y' }, 'oidc: required claim aud_of value does not match. Got = y, want = '],
    [
      { aud: 'x' },
      'oidc: verify token: oidc: expected audience in ["kubelevel" "other"] got ["x"]',
    ],
  ]
  for (const [claims, why] of refused)
    t.equal(await review(claims), `[invalid bearer token, ${why}]`)
})

t.test('anonymous requests are allowed for certain paths', async (t) => {
  const conditions = [{ path: '/livez' }, { path: '/readyz' }]
  const server = await startWith(t, { anonymous: { enabled: true, conditions } })
  const codes = async (paths: string[]) =>
    Promise.all(paths.map(async (path) => (await call(server, { path, token: '' })).status))
  t.same(
    await codes(['/livez', '/readyz?verbose', '/healthz', '/api', '/livez/ping']),
    [200, 200, 401, 401, 401],
  )
  const nobody = await startServer(t, {
    authenticationConfigFile: path.join(
      t.testdir({ 'none.json': JSON.stringify({ ...kind, anonymous: { enabled: false } }) }),
      'none.json',
    ),
  })
  t.equal((await call(nobody, { path: '/livez', token: '' })).status, 401)
})

t.test('a file that makes no sense keeps the server from starting', async (t) => {
  const file = path.join(t.testdir(), 'authentication.yaml')
  const start = (text: string, options = {}) => {
    writeFileSync(file, text)
    return startServer(t, { authenticationConfigFile: file, ...options })
  }
  const head = `apiVersion: ${kind.apiVersion}\nkind: ${kind.kind}\n`
  const cannotLoad = `failed to load authentication configuration from file ${JSON.stringify(file)}`
  const isInvalid = 'invalid authentication configuration'
  const issuer = 'issuer: { url: https://a.example, audiences: [a] }'
  const mappings = 'claimMappings: { username: { claim: sub, prefix: "" } }'
  const wrong: [string, string, object?][] = [
    ['', `${cannotLoad}: empty config data`],
    [`${head}jwts: []`, `${cannotLoad}: strict decoding error: unknown field "jwts"`],
    [
      `${head}jwt: [{ issuer: { url: https://a.example }, ${mappings} }]`,
      `${isInvalid}: jwt[0].issuer.audiences: Required value: at least one jwt[0].issuer.audiences is required`,
    ],
    [
      `${head}jwt: [{ ${issuer}, claimMappings: { username: { expression: claims.email } } }]`,
      `${isInvalid}: jwt[0].claimMappings.username.expression: Invalid value: "claims.email": claims.email_verified must be used in claimMappings.username.expression or claimMappings.extra[*].valueExpression or claimValidationRules[*].expression when claims.email is used in claimMappings.username.expression`,
    ],
    [
      `${head}jwt: [{ ${issuer}, ${mappings} }, { ${issuer}, ${mappings} }]`,
      `${isInvalid}: jwt[1].issuer.url: Duplicate value: "https://a.example"`,
    ],
    [
      `${head}jwt: [{ issuer: { url: https://kubernetes.default.svc, audiences: [a] }, ${mappings} }]`,
      'issuer.url: Invalid value: "https://kubernetes.default.svc": URL must not overlap with disallowed issuers: [https://kubernetes.default.svc]',
    ],
    [
      `${head}anonymous: { enabled: true }`,
      'anonymous: Forbidden: --anonymous-auth flag cannot be set when anonymous field is configured in authentication configuration file',
      { anonymousAuth: true },
    ],
    [
      head,
      'authentication-config file and oidc-* flags are mutually exclusive',
      { oidc: { issuerUrl: 'https://a.example', clientId: 'c' } },
    ],
  ]
  for (const [text, message, options] of wrong) await t.rejects(start(text, options), { message })
})

t.test('issuers take the place of others once they have answered', async (t) => {
  const [first, second] = [await startTokenIssuer(t), await startTokenIssuer(t)]
  const named = (...issuers: TokenIssuer[]) => ({
    algorithms: allAlgorithms,
    jwt: issuers.map((issuer) => ({
      issuer: issuerOf(issuer),
      claimMappings: { username: { claim: 'sub', prefix: '' } },
    })),
  })
  const issuers = new JwtIssuers(named(first), {
    clock: { now: () => Date.now() },
    warn: () => {},
    disallowed: [],
  })
  t.teardown(() => issuers.close())
  const names = async () =>
    Promise.all(
      [first, second].map(async (issuer) => {
        const user = await issuers.authenticate(await issuer.token({}))
        return typeof user === 'object' ? user.name : user
      }),
    )
  await eventually('the first is known', async () => (await names())[0] === 'ada')
  await issuers.replace(named(first, second))
  t.same(await names(), ['ada', 'ada'])
  const away = { ...second, url: 'https://127.0.0.1:1' }
  await t.rejects(issuers.replace(named(away)), { message: /does not answer/ })
  t.same(await names(), ['ada', 'ada'], 'the former stay')
  await issuers.replace(named(second))
  t.same(await names(), [undefined, 'ada'])
})

t.test('an issuer that does not answer holds up no server that stops', async (t) => {
  const asking: Socket[] = []
  const silent = createServer((socket) => asking.push(socket.on('error', () => {})))
  t.teardown(() => {
    for (const socket of asking) socket.destroy()
    silent.close()
  })
  await once(silent.listen(0, '127.0.0.1'), 'listening')
  const url = `https://127.0.0.1:${(silent.address() as AddressInfo).port}`
  const claimMappings = { username: { claim: 'sub', prefix: '' } }
  const jwt = [{ issuer: { url, audiences: ['kubelevel'] }, claimMappings }]
  const file = path.join(t.testdir(), 'authentication.json')
  const write = (more: object) => writeFileSync(file, JSON.stringify({ ...kind, ...more }))
  write({})
  const started = new StartedParts()
  const warned: string[] = []
  const deps = { clock: systemClock, warn: (message: string) => warned.push(message) }
  await openAuthentication({ authenticationConfigFile: file }, deps, started)
  write({ jwt })
  await eventually('it is asked', async () => asking.length > 0)
  await started.end()
  t.same(warned, ['reloading authentication config'], 'it is not waited for')
})

t.test('a file is read again when it has changed, and mistakes are reported once', async (t) => {
  const file = path.join(t.testdir(), 'followed')
  writeFileSync(file, 'one')
  const taken: string[] = []
  const warnings: string[] = []
  let isEarly = true
  const stop = followFile({
    file,
    text: 'one',
    take: async (text) => {
      taken.push(text)
      if (text === 'wrong') throw new Error('cannot be meant')
      if (text === 'early' && isEarly) throw new NotYetUsable('nobody answers yet')
    },
    warn: (error) => warnings.push((error as Error).message),
  })
  t.teardown(stop)
  const replace = (text: string): void => {
    // At once, as whoever replaces a file should.
    writeFileSync(`${file}.next`, text)
    renameSync(`${file}.next`, file)
  }
  for (const text of ['two', 'wrong', 'three']) {
    replace(text)
    await eventually(text, async () => taken.at(-1) === text)
  }
  t.same([taken, warnings], [['two', 'wrong', 'three'], ['cannot be meant']])
  replace('early')
  await eventually('a first try', () => warnings.length > 1)
  t.equal(warnings[1], 'nobody answers yet')
  isEarly = false
  const tries = taken.length
  replace('early')
  await eventually('another try', () => taken.length > tries)
  t.equal(taken.at(-1), 'early')
  replace('last')
  await eventually('the last', () => taken.at(-1) === 'last')
})

t.test('a folder that cannot be watched keeps no server from starting', async (t) => {
  const file = path.join(t.testdir(), 'missing', 'file')
  const take = async (): Promise<void> => void t.fail('there is nothing to take')
  const stop = followFile({ file, text: '', take, warn: () => {} })
  await stop()
})
