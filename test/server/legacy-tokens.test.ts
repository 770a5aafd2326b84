/** What the server tells and keeps of tokens of ServiceAccounts that are used; seen with kube-apiserver 1.36. */
import { createHash, createPrivateKey, createPublicKey, generateKeyPairSync } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { type JWTPayload, SignJWT } from 'jose'
import t, { type Test } from 'tap'
import { limits } from '#limits'
import { eventually } from '../eventually.js'
import { temporaryDirectory } from '../storage/level-fixture.js'
import { call, startServer } from './start-server.js'

const namespace = 'default'
const lastUsed = 'kubernetes.io/legacy-token-last-used'
const invalidSince = 'kubernetes.io/legacy-token-invalid-since'
const issuer = 'https://kubernetes.default.svc'
const secrets = `/api/v1/namespaces/${namespace}/secrets`
const accounts = `/api/v1/namespaces/${namespace}/serviceaccounts`
const reviews = '/apis/authentication.k8s.io/v1'
const dayMs = 24 * 3_600_000
/** It is noon all the time, so that no day and no token is over before the test is. Yesterday's: certificates are not of the future. */
const noon = Math.floor(Date.now() / dayMs) * dayMs - dayMs / 2

/** A server, who signs for it, and its audit log. */
const startTokens = async (t: Test) => {
  const folder = temporaryDirectory(t)
  const [keyFile, policyFile, logFile] = ['sa.key', 'policy.yaml', 'audit.log'].map((name) =>
    path.join(folder, name),
  ) as [string, string, string]
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const pem = privateKey.export({ type: 'pkcs8', format: 'pem' }) as string
  writeFileSync(keyFile, pem)
  const rule = '{level: Metadata, omitStages: [RequestReceived]}'
  writeFileSync(policyFile, `{apiVersion: audit.k8s.io/v1, kind: Policy, rules: [${rule}]}`)
  const clock = { laterMs: 0, now: () => noon + clock.laterMs }
  const server = await startServer(t, {
    serviceAccountSigningKeyFile: keyFile,
    disableAdmissionPlugins: ['ServiceAccount'],
    audit: { policyFile, log: { path: logFile } },
    clock,
  })
  const der = createPublicKey(pem).export({ type: 'spki', format: 'der' })
  const kid = createHash('sha256').update(der).digest('base64url')
  const sign = (payload: JWTPayload, header: { kid?: string } = { kid }) =>
    new SignJWT(payload).setProtectedHeader({ alg: 'RS256', ...header }).sign(createPrivateKey(pem))
  const uid: string = (
    await call(server, { method: 'POST', path: accounts, body: { metadata: { name: 'robot' } } })
  ).body.metadata.uid
  return {
    clock,
    /** Until the server looks anew at tokens that it found good. */
    soon: () => (clock.laterMs += limits.goodTokenKeptMs),
    sign,
    uid,
    post: (where: string, body: object) => call(server, { method: 'POST', path: where, body }),
    read: (where: string) => call(server, { path: where }),
    remove: (where: string) => call(server, { method: 'DELETE', path: where }),
    patch: (where: string, body: object) =>
      call(server, {
        method: 'PATCH',
        path: where,
        body,
        headers: { 'content-type': 'application/merge-patch+json' },
      }),
    /** What the audit log says of one use of it, too. */
    use: async (token: string) => {
      const answer = await call(server, {
        method: 'POST',
        path: `${reviews}/selfsubjectreviews`,
        token,
        body: {},
      })
      const event = await eventually('an event of it', async () => {
        const lines = readFileSync(logFile, 'utf8').trim().split('\n')
        return lines
          .map((line) => JSON.parse(line || '{}'))
          .find(({ auditID }) => auditID === answer.headers['audit-id'])
      })
      const told: Record<string, string> = event.annotations ?? {}
      const annotations = Object.fromEntries(
        Object.entries(told).filter(([key]) => key.startsWith('authentication.k8s.io/')),
      )
      const { warning } = answer.headers
      return { code: answer.status, warning, annotations, user: answer.body.status?.userInfo }
    },
    review: async (token: string) => {
      const { body, headers } = await call(server, {
        method: 'POST',
        path: `${reviews}/tokenreviews`,
        body: { spec: { token } },
      })
      const { user, error, authenticated } = body.status
      return { user, error, authenticated, warning: headers.warning }
    },
    uses: async () =>
      (await call(server, { path: '/metrics' })).text
        .split('\n')
        .filter((line) => line.startsWith('serviceaccount_'))
        .map((line) => line.replace(/^serviceaccount_/, '').replace(/_total /, ' ')),
  }
}

t.test('uses of tokens in Secrets are noted, warned of and counted', async (t) => {
  const { clock, soon, sign, uid, post, patch, remove, read, use, review, uses } =
    await startTokens(t)
  const claims = {
    iss: 'kubernetes/serviceaccount',
    sub: `system:serviceaccount:${namespace}:robot`,
    'kubernetes.io/serviceaccount/namespace': namespace,
    'kubernetes.io/serviceaccount/secret.name': 'tok',
    'kubernetes.io/serviceaccount/service-account.name': 'robot',
    'kubernetes.io/serviceaccount/service-account.uid': uid,
  }
  const token = await sign(claims)
  await post(secrets, {
    metadata: { name: 'tok', annotations: { 'kubernetes.io/service-account.name': 'robot' } },
    type: 'kubernetes.io/service-account-token',
    data: { token: Buffer.from(token).toString('base64') },
  })
  const secret = `${secrets}/tok`
  const metadata = async () => (await read(secret)).body.metadata
  const legacy = { 'authentication.k8s.io/legacy-token': claims.sub }
  const used = await use(token)
  t.same(
    [used.code, used.warning, used.annotations],
    [201, undefined, { ...legacy, 'authentication.k8s.io/legacy-token-manual-secret': 'tok' }],
  )
  t.equal(used.user.username, claims.sub)
  t.notOk(used.user.extra)
  const day = (days: number) => new Date(noon + days * dayMs).toISOString().slice(0, 10)
  const after = await metadata()
  t.same(after.labels, { [lastUsed]: day(0) })
  t.ok(after.managedFields.some(({ manager }: { manager: string }) => manager === 'kube-apiserver'))
  soon()
  await use(token)
  t.equal((await metadata()).resourceVersion, after.resourceVersion, 'once a day')
  await patch(secret, { metadata: { labels: { [lastUsed]: day(1) } } })
  soon()
  await use(token)
  t.equal((await metadata()).labels[lastUsed], day(1), 'another server may be ahead')
  clock.laterMs += 2 * dayMs
  await review(token)
  t.equal((await metadata()).labels[lastUsed], day(2), 'a review is a use')

  await patch(`${accounts}/robot`, { secrets: [{ name: 'tok' }] })
  soon()
  const auto = await use(token)
  const advice =
    'Use tokens from the TokenRequest API or manually created secret-based tokens instead of auto-generated secret-based tokens.'
  t.equal(auto.warning, `299 - "${advice}"`)
  t.same(auto.annotations, {
    ...legacy,
    'authentication.k8s.io/legacy-token-autogenerated-secret': 'tok',
  })
  soon()
  const reviewed = await review(token)
  t.same([reviewed.authenticated, reviewed.warning], [true, undefined], 'who asks is not warned')

  await patch(secret, { metadata: { labels: { [invalidSince]: day(0), [lastUsed]: null } } })
  soon()
  const refused = await use(token)
  t.equal(refused.code, 401)
  t.same(
    refused.annotations,
    {},
    'as upstream, whose cache of tokens drops what is noted of bad ones',
  )
  t.match(await review(token), {
    error: `[invalid bearer token, the token in secret ${namespace}/tok for service account ${namespace}/robot has been marked invalid. Use tokens from the TokenRequest API or manually created secret-based tokens, or remove the '${invalidSince}' label from the secret to temporarily allow use of this token]`,
  })
  t.equal((await metadata()).labels[lastUsed], day(2), 'also of one that is marked')
  await patch(secret, { metadata: { labels: { [invalidSince]: null } } })
  t.equal((await use(token)).code, 201, 'and may be had back')
  t.same(await uses(), [
    'legacy_tokens 9',
    'stale_tokens 0',
    'legacy_manual_token_uses 4',
    'legacy_auto_token_uses 3',
    'invalid_legacy_auto_token_uses 2',
    'valid_tokens 0',
  ])

  const problem = async (changed: JWTPayload) =>
    (await review(await sign({ ...claims, ...changed }))).error
  const told = (text: string) => `[invalid bearer token, ${text}]`
  for (const [name, called] of [
    ['namespace', 'namespace'],
    ['secret.name', 'secretName'],
    ['service-account.name', 'serviceAccountName'],
    ['service-account.uid', 'serviceAccountUID'],
  ])
    t.equal(
      await problem({ [`kubernetes.io/serviceaccount/${name}`]: undefined }),
      told(`${called} claim is missing`),
    )
  t.equal(await problem({ sub: 'x' }), told('sub claim is invalid'))
  t.equal(await problem({ jti: 'x' }), told("Token does not match server's copy"))
  await remove(secret)
  soon()
  t.equal(await problem({}), told('Token has been invalidated'))
})

t.test('a review says why a requested token is invalid', async (t) => {
  const { soon, sign, uid, post, remove, use, review, uses } = await startTokens(t)
  const seconds = noon / 1000
  const times = { exp: seconds + 3600, iat: seconds, nbf: seconds }
  const sub = `system:serviceaccount:${namespace}:robot`
  const make = (bound: object = {}, changed: JWTPayload = {}, header?: { kid?: string }) => {
    const own = { namespace, serviceaccount: { name: 'robot', uid }, ...bound }
    const payload = { aud: [issuer], iss: issuer, sub, ...times, 'kubernetes.io': own, ...changed }
    return sign(payload, header)
  }
  const problem = async (...parts: Parameters<typeof make>) =>
    (await review(await make(...parts))).error?.replace(/^\[invalid bearer token, |\]$/g, '')
  t.equal(await problem(), undefined)
  t.notOk((await use(await make())).user.extra, 'a token without an id has no credential id')
  t.equal(await problem({}, { exp: seconds - 300 }), 'service account token has expired')
  t.equal(await problem({}, { exp: seconds - 30 }), undefined, 'clocks differ by a minute')
  t.equal(await problem({}, { exp: undefined }), undefined)
  t.equal(await problem({}, { nbf: seconds + 300 }), 'service account token is not valid yet')
  t.equal(await problem({}, { nbf: seconds + 30 }), undefined)
  t.equal(
    await problem({}, { iat: seconds + 300 }),
    'service account token is issued in the future',
  )
  const invalidated = 'service account token has been invalidated'
  const nobody = { name: 'nobody', uid: 'x' }
  for (const kind of ['pod', 'secret', 'node'])
    t.equal(await problem({ [kind]: nobody }), invalidated, kind)
  t.equal(await problem({ serviceaccount: nobody }), 'serviceaccounts "nobody" not found')
  t.equal(
    await problem({ serviceaccount: { name: 'robot', uid: 'x' } }),
    `service account UID (${uid}) does not match claim (x)`,
  )
  t.equal(await problem({}, { 'kubernetes.io': undefined }), 'resource name may not be empty')
  t.equal(await problem({}, {}, { kid: 'other' }), 'invalid signature, no keys found')
  t.equal(await problem({}, {}, {}), undefined, 'without a name each key is tried')
  t.equal(await problem({}, { iss: 'x' }), 'invalid bearer token', "another issuer's")
  const forged = `${(await make()).slice(0, -8)}AAAAAAAA`
  t.match(await review(forged), {
    error: '[invalid bearer token, go-jose/go-jose: error in cryptographic primitive]',
  })

  const made = (await post(secrets, { metadata: { name: 'bound' } })).body.metadata.uid
  const toSecret = { secret: { name: 'bound', uid: made } }
  t.equal(await problem(toSecret), undefined)
  await remove(`${secrets}/bound`)
  soon()
  t.equal(await problem(toSecret), invalidated)
  const other = (await post(secrets, { metadata: { name: 'bound' } })).body.metadata.uid
  t.equal(
    await problem(toSecret),
    `secret UID (${other}) does not match service account secret ref claim (${made})`,
  )

  const stale = await use(await make({ warnafter: seconds - 100 }))
  t.match(
    stale.annotations['authentication.k8s.io/stale-token'],
    new RegExp(`^subject: ${sub}, seconds after warning threshold: 1\\d\\d$`),
  )
  t.same((await use(await make({ warnafter: seconds + 3600 }))).annotations, {})
  t.ok((await uses()).includes('stale_tokens 1'))
  t.ok((await uses()).includes('valid_tokens 1'))
})
