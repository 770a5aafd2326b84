/** An OpenID Connect provider of a test's own, on a free port, closed with the test. */
import https from 'node:https'
import {
  exportJWK,
  type GenerateKeyPairResult,
  generateKeyPair,
  type JWTPayload,
  SignJWT,
} from 'jose'
import type { Test } from 'tap'
import { issueCertificate } from '#net/x509.js'
import { listen } from '../listen.js'

const life = { notBeforeMs: Date.UTC(2020, 0), notAfterMs: Date.UTC(2100, 0) }

export interface TokenIssuer {
  readonly url: string
  /** Of the authority that signed its certificate, in PEM. */
  readonly authority: string
  /** A token with these claims beside its own, for two hours; a claim that is undefined is left out. */
  token(claims: JWTPayload): Promise<string>
  /** From now on tokens are signed with a new key. */
  changeKey(): Promise<void>
  /** What else is answered, by path. */
  readonly answers: Map<string, string>
  /** Where else it is answered, by path. */
  readonly moved: Map<string, string>
  /** Headers of the last request for each path. */
  readonly asked: Map<string, Record<string, unknown>>
}

export const startTokenIssuer = async (t: Test): Promise<TokenIssuer> => {
  const ca = issueCertificate({ ...life, use: 'authority', subject: { commonName: 'issuer-ca' } })
  const own = issueCertificate({
    ...life,
    use: 'server',
    subject: { commonName: 'issuer' },
    names: ['127.0.0.1', 'localhost'],
    issuer: ca,
  })
  const keys: object[] = []
  const answers = new Map<string, string>()
  let key: GenerateKeyPairResult['privateKey']
  const changeKey = async (): Promise<void> => {
    const pair = await generateKeyPair('ES256')
    key = pair.privateKey
    const kid = `key-${keys.length}`
    keys.splice(0, keys.length, { ...(await exportJWK(pair.publicKey)), kid, alg: 'ES256' })
  }
  await changeKey()
  const server = https.createServer({ key: own.keyPem, cert: own.certPem }, (request, response) => {
    issuer.asked.set(request.url!, request.headers)
    response.setHeader('content-type', 'application/json')
    const about = { issuer: issuer.url, jwks_uri: `${issuer.url}/keys` }
    answers.set('/.well-known/openid-configuration', JSON.stringify(about))
    answers.set('/keys', JSON.stringify({ keys }))
    const answer = answers.get(request.url!)
    const location = issuer.moved.get(request.url!)
    if (location !== undefined) response.writeHead(307, { location })
    else response.statusCode = answer === undefined ? 404 : 200
    response.end(answer)
  })
  const port = await listen(t, server)
  const issuer: TokenIssuer = {
    url: `https://127.0.0.1:${port}`,
    authority: ca.certPem,
    answers,
    asked: new Map(),
    moved: new Map(),
    changeKey,
    token: (claims) => {
      const now = Math.floor(Date.now() / 1000)
      const standard = { iss: issuer.url, aud: 'kubelevel', sub: 'ada', exp: now + 7200, iat: now }
      return new SignJWT({ ...standard, ...claims }).setProtectedHeader({ alg: 'ES256' }).sign(key)
    },
  }
  return issuer
}
