/** ID tokens of an OpenID Connect provider: who they are, and why they are nobody's. */
import { writeFileSync } from 'node:fs'
import path from 'node:path'
import type { JWTPayload } from 'jose'
import t, { type Test } from 'tap'
import type { OidcOptions } from '#server/options.js'
import { eventually } from '../eventually.js'
import { call, startServer } from './start-server.js'
import { startTokenIssuer, type TokenIssuer } from './token-issuer.js'

/** Asks a server that knows the provider's tokens for the user of one, or for why it has none. */
const startReview = async (t: Test, issuer: TokenIssuer, options: Partial<OidcOptions>) => {
  const caFile = path.join(t.testdir(), 'ca.pem')
  writeFileSync(caFile, issuer.authority)
  const signingAlgs = ['ES256']
  const oidc = { issuerUrl: issuer.url, clientId: 'kubelevel', caFile, signingAlgs, ...options }
  const server = await startServer(t, { oidc })
  const reviewToken = async (token: string) => {
    const body = { spec: { token } }
    const path = '/apis/authentication.k8s.io/v1/tokenreviews'
    const { status } = (await call(server, { method: 'POST', path, body })).body
    return status.authenticated
      ? status.user
      : status.error.replace(/^\[invalid bearer token, |\]$/g, '')
  }
  const review = async (claims: JWTPayload) => reviewToken(await issuer.token(claims))
  // The provider is asked in the background.
  await eventually('the provider is known', async () => {
    return typeof (await review({ email: 'x@y.z' })) === 'object'
  })
  return { server, review, reviewToken }
}

t.test('a token of the provider is its subject, with the groups that it names', async (t) => {
  const issuer = await startTokenIssuer(t)
  const groups = { groupsClaim: 'groups', groupsPrefix: 'oidc:' }
  const { server, review, reviewToken } = await startReview(t, issuer, groups)
  const token = await issuer.token({ groups: ['a', 'b'], jti: 'J1' })
  const path = '/apis/authentication.k8s.io/v1/selfsubjectreviews'
  const me = await call(server, { method: 'POST', path, token, body: {} })
  const user = {
    username: `${issuer.url}#ada`,
    groups: ['oidc:a', 'oidc:b', 'system:authenticated'],
    extra: { 'authentication.kubernetes.io/credential-id': ['JTI=J1'] },
  }
  t.same(me.body.status.userInfo, user)
  t.same(await reviewToken(token), user)
  t.match(await review({ groups: 'one' }), { groups: ['oidc:one', 'system:authenticated'] })
  const now = Math.floor(Date.now() / 1000)
  const refused: [JWTPayload, string | RegExp][] = [
    [
      { groups: 5 },
      'oidc: parse groups claim "groups": json: cannot unmarshal number into Go value of type string',
    ],
    [{ aud: ['x', 'y'] }, 'oidc: verify token: oidc: expected audience "kubelevel" got ["x" "y"]'],
    [{ exp: now - 1 }, /^oidc: verify token: oidc: token is expired \(Token Expiry: 2\d{3}-/],
    [{ nbf: now + 7200 }, /^oidc: verify token: oidc: current time .* before the nbf/],
    [{ sub: undefined }, 'oidc: parse username claims "sub": claim not present'],
    [{ iss: 'https://elsewhere' }, 'invalid bearer token'],
  ]
  for (const [claims, why] of refused) t.match(await review(claims), why)
  t.match(await review({ nbf: now + 30 }), { username: `${issuer.url}#ada` })
  const [head, body, signature] = token.split('.')
  const other = Buffer.from(`${signature}`, 'base64url').reverse().toString('base64url')
  t.equal(
    await reviewToken(`${head}.${body}.${other}`),
    'oidc: verify token: failed to verify signature: failed to verify id token signature',
  )
  const unsigned = Buffer.from('{"alg":"none"}').toString('base64url')
  t.equal(
    await reviewToken(`${unsigned}.${body}.`),
    'oidc: verify token: oidc: id token signed with unsupported algorithm, expected ["ES256"] got "none"',
  )
})

t.test('keys that the provider changes are read anew', async (t) => {
  const issuer = await startTokenIssuer(t)
  const { review, reviewToken } = await startReview(t, issuer, {})
  const former = await issuer.token({})
  await issuer.changeKey()
  await eventually('the new key is known', async () => typeof (await review({})) === 'object')
  t.match(await reviewToken(former), /failed to verify signature/)
})

t.test('an email counts if it is verified, or if the token does not say', async (t) => {
  const issuer = await startTokenIssuer(t)
  const { review } = await startReview(t, issuer, { usernameClaim: 'email' })
  for (const claims of [{}, { email_verified: true }])
    t.match(await review({ email: 'a@b.c', ...claims }), { username: 'a@b.c' })
  for (const email_verified of [false, null])
    t.equal(await review({ email: 'a@b.c', email_verified }), 'oidc: email not verified')
})

t.test('what tokens must say', async (t) => {
  const issuer = await startTokenIssuer(t)
  const requiredClaims = { email: 'x@y.z' }
  const { review } = await startReview(t, issuer, { usernamePrefix: '-', requiredClaims })
  t.match(await review({ email: 'x@y.z' }), { username: 'ada' })
  t.equal(await review({}), 'oidc: required claim email not present in ID token')
  t.equal(
    await review({ email: 'a' }),
    'oidc: required claim email value does not match. Got = a, want = x@y.z',
  )
})

t.test('distributed groups are fetched from where the token says', async (t) => {
  const issuer = await startTokenIssuer(t)
  const { review } = await startReview(t, issuer, { groupsClaim: 'groups' })
  issuer.answers.set('/groups', await issuer.token({ groups: ['many', 'more'] }))
  issuer.answers.set('/none', await issuer.token({}))
  const told = (at: string) => ({
    _claim_names: { groups: 'there' },
    _claim_sources: { there: { endpoint: `${issuer.url}${at}`, access_token: 'open sesame' } },
  })
  t.match(await review(told('/groups')), { groups: ['many', 'more', 'system:authenticated'] })
  t.match(issuer.asked.get('/groups'), { authorization: 'Bearer open sesame' })
  const could = 'oidc: could not expand distributed claims'
  t.equal(
    await review(told('/none')),
    `${could}: jwt returned by distributed claim endpoint "${issuer.url}/none" did not contain claim: groups`,
  )
  t.equal(
    await review(told('/gone')),
    `${could}: while getting distributed claim "groups": error while getting distributed claim JWT: 404 Not Found`,
  )
  t.equal(
    await review({ _claim_names: { groups: 'nowhere' } }),
    'oidc: verify token: oidc: source does not exist',
  )
})

t.test(
  'a provider that is away keeps nobody else out; one that cannot be is refused',
  async (t) => {
    const oidc = { issuerUrl: 'https://127.0.0.1:1', clientId: 'c' }
    const server = await startServer(t, { oidc })
    const issuer = await startTokenIssuer(t)
    const token = await issuer.token({ iss: oidc.issuerUrl })
    t.equal((await call(server, { path: '/api', token })).status, 401)
    t.equal((await call(server, { path: '/api' })).status, 200)
    await t.rejects(startServer(t, { oidc: { ...oidc, issuerUrl: 'http://x?y#z' } }), {
      message:
        '[jwt[0].issuer.url: Invalid value: "http://x?y#z": URL scheme must be https, jwt[0].issuer.url: Invalid value: "http://x?y#z": URL must not contain a query, jwt[0].issuer.url: Invalid value: "http://x?y#z": URL must not contain a fragment]',
    })
    await t.rejects(startServer(t, { oidc: { ...oidc, signingAlgs: ['HS256'] } }), {
      message: 'oidc: unsupported signing alg: "HS256"',
    })
  },
)

t.test('documents of a provider may be elsewhere', async (t) => {
  const issuer = await startTokenIssuer(t)
  const { url, answers, moved, asked } = issuer
  moved.set('/.well-known/openid-configuration', '/here')
  answers.set('/here', JSON.stringify({ issuer: url, jwks_uri: `${url}/moved` }))
  moved.set('/moved', `${url}/keys`)
  const { review } = await startReview(t, issuer, { groupsClaim: 'groups' })
  const from = (endpoint: string) =>
    review({
      _claim_names: { groups: 'there' },
      _claim_sources: { there: { endpoint, access_token: 'open sesame' } },
    })
  moved.set('/claims', '/claims-here')
  answers.set('/claims-here', await issuer.token({ groups: ['a'] }))
  t.match(await from(`${url}/claims`), { groups: ['a', 'system:authenticated'] })
  t.equal(asked.get('/claims-here')?.authorization, 'Bearer open sesame')
  moved.set('/claims-elsewhere', `${url.replace('127.0.0.1', 'localhost')}/claims-here`)
  t.match(await from(`${url}/claims-elsewhere`), { groups: ['a', 'system:authenticated'] })
  t.equal(asked.get('/claims-here')?.authorization, undefined, 'it was for another host')
  moved.set('/round', '/round')
  t.match(await from(`${url}/round`), /: Get "\/round": stopped after 10 redirects$/)
})
