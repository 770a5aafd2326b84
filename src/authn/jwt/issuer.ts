/**
 * An issuer of JWTs: its discovery document and keys (OpenID Connect Discovery), and the verification of its tokens
 * (go-oidc's provider and verifier).
 */
import http, { type IncomingMessage } from 'node:http'
import https from 'node:https'
import type { createRemoteJWKSet } from 'jose'
import type { Clock } from '#api/clock.js'
import { goKindOf } from '#api/decoder-texts.js'
import { withinTime } from '#async/within-time.js'
import { goNetError } from '#go/net-error.js'
import { goQuote, goQuoteList } from '#go/quote.js'
import { zeroTime } from '#go/zero-time.js'
import { isJsonObject } from '#json/object.js'
import type { JsonObject, JsonValue } from '#json/value.js'
import { limits } from '#limits'
import { dialOptions } from '#net/dial-options.js'
import { mayHaveCredentials, movedTo, tooManyMoves } from '#net/redirect.js'
import { trusted } from '#net/trusted.js'
import { type Reply, readReply } from '#webhook/review-answer.js'
import { TrustingAgent } from '#webhook/trusting-agent.js'

export interface IssuerOptions {
  readonly url: string
  readonly discoveryURL?: string | undefined
  /** PEM. Missing: the authorities that Node knows. */
  readonly certificateAuthority?: string | undefined
  readonly audiences: readonly string[]
  readonly algorithms: readonly string[]
  readonly clock: Clock
  readonly warn: (message: string, error: unknown) => void
}

/** Makes GET requests with these headers to servers with a certificate of that authority (PEM), and follows redirects. */
export const requestOf = (ca: string | undefined) => {
  const agent = new TrustingAgent({ ...trusted(ca), ...dialOptions })
  const get = (
    url: string,
    headers: Record<string, string>,
    { signal, movesLeft }: { signal: AbortSignal; movesLeft: number },
  ): Promise<Reply> =>
    new Promise((resolve, reject) => {
      const fail = (why: string, asked = url, cause?: Error): void =>
        reject(new Error(`Get ${goQuote(asked)}: ${why}`, { cause }))
      const read = (response: IncomingMessage): void => {
        const moved = movedTo(response, url)
        if (moved === undefined) resolve(readReply(response))
        else if (movesLeft === 0) fail(tooManyMoves, response.headers.location)
        else {
          const left = { signal, movesLeft: movesLeft - 1 }
          const shown = mayHaveCredentials(moved, url) ? headers : {}
          resolve(get(moved.href, shown, left))
        }
        if (moved !== undefined) response.resume()
      }
      const request = url.startsWith('http:')
        ? http.get(url, { headers, signal, ...dialOptions }, read)
        : https.get(url, { agent, headers, signal }, read)
      request.on('error', (error) => fail(goNetError(error), url, error))
    })
  return (
    url: string,
    headers: Record<string, string> = {},
    { signal }: AbortController = new AbortController(),
  ): Promise<Reply> =>
    withinTime(signal, limits.issuerTimeoutMs, (signal) =>
      get(url, headers, { signal, movesLeft: limits.redirectsMax - 1 }),
    )
}

/** The claims of a token without verification. Undefined for a text that is not a JWT. */
export const unverifiedClaims = (token: string): JsonObject | undefined => {
  const parts = token.split('.')
  if (parts.length !== 3) return undefined
  try {
    const claims: JsonValue = JSON.parse(Buffer.from(parts[1]!, 'base64url').toString())
    return isJsonObject(claims) ? claims : undefined
  } catch {
    return undefined
  }
}

/** The issuer has not been reached yet. */
export class NotReadyError extends Error {}

const wrongType = (name: string, value: JsonValue, wanted: string): Error =>
  new Error(
    `oidc: failed to unmarshal claims: json: cannot unmarshal ${goKindOf(value)} into Go struct field idToken.${name} of type ${wanted}`,
  )

const checkTypes = (claims: JsonObject): void => {
  for (const name of ['sub', 'nonce', 'at_hash']) {
    const value = claims[name] ?? ''
    if (typeof value !== 'string') throw wrongType(name, value, 'string')
  }
  const { _claim_names: names = {}, _claim_sources: sources = {} } = claims
  if (!isJsonObject(names)) throw wrongType('_claim_names', names, 'map[string]string')
  for (const source of Object.values(names))
    if (!isJsonObject(sources) || !Object.hasOwn(sources, String(source)))
      throw new Error('oidc: source does not exist')
}

const algorithmOf = (token: string): string => {
  const encoded = token.slice(0, token.indexOf('.'))
  const wrongAt = encoded.search(/[^\w-]/)
  if (wrongAt >= 0)
    throw new Error(`oidc: malformed jwt: illegal base64 data at input byte ${wrongAt}`)
  try {
    const header: JsonValue = JSON.parse(Buffer.from(encoded, 'base64url').toString())
    return isJsonObject(header) && typeof header.alg === 'string' ? header.alg : ''
  } catch (error) {
    throw new Error(`oidc: malformed jwt: ${(error as Error).message}`)
  }
}

type Keys = ReturnType<typeof createRemoteJWKSet>

export class Issuer {
  readonly #options: IssuerOptions
  readonly #get: ReturnType<typeof requestOf>
  #keys: Keys | undefined
  #retry: NodeJS.Timeout | undefined
  readonly #closing = new AbortController()

  constructor(options: IssuerOptions) {
    this.#options = options
    this.#get = requestOf(options.certificateAuthority)
  }

  get isKnown(): boolean {
    return this.#keys !== undefined
  }

  /** Reads the issuer's documents, and retries in the background: the issuer may run on this very cluster. */
  async start(): Promise<void> {
    try {
      const keys = await this.#discover()
      if (!this.#closing.signal.aborted) this.#keys = keys
    } catch (error) {
      if (this.#closing.signal.aborted) return
      this.#options.warn(`oidc authenticator: issuer ${this.#options.url} is not known yet`, error)
      this.#retry = setTimeout(() => this.start(), limits.issuerRetryMs)
      this.#retry.unref()
    }
  }

  close(): void {
    this.#closing.abort()
    clearTimeout(this.#retry)
  }

  async #discover(): Promise<Keys> {
    const { url, discoveryURL } = this.#options
    const document = `${url.replace(/\/$/, '')}/.well-known/openid-configuration`
    const { code, text } = await this.#get(discoveryURL || document, {}, this.#closing)
    if (code !== 200) throw new Error(`${code}: ${text}`)
    const about = JSON.parse(text) as { issuer?: string; jwks_uri?: string }
    if (about.issuer !== url)
      throw new Error(
        `oidc: issuer did not match the issuer returned by provider, expected ${goQuote(url)} got ${goQuote(about.issuer ?? '')}`,
      )
    if (!about.jwks_uri) throw new Error('provider did not return JWKS URL')
    const { createRemoteJWKSet, customFetch } = await import('jose')
    const get = this.#get
    return createRemoteJWKSet(new URL(about.jwks_uri), {
      cacheMaxAge: Number.POSITIVE_INFINITY,
      cooldownDuration: limits.issuerKeysPauseMs,
      [customFetch]: async (asked: string) => {
        const reply = await get(asked)
        return new Response(reply.text, { status: reply.code })
      },
    })
  }

  /** Verified claims of a token that names this issuer. Rejects if it is invalid. */
  async verify(token: string): Promise<JsonObject> {
    const keys = this.#keys
    if (keys === undefined) throw new NotReadyError('oidc: authenticator not initialized')
    const claims = unverifiedClaims(token)!
    checkTypes(claims)
    this.#checkClaims(claims)
    await this.#checkSignature(token, keys)
    return claims
  }

  #checkClaims({ aud, exp, nbf }: JsonObject): void {
    const { audiences, clock } = this.#options
    const given = [aud ?? []].flat() as string[]
    if (!audiences.some((audience) => given.includes(audience)))
      throw new Error(
        audiences.length === 1
          ? `oidc: expected audience ${goQuote(audiences[0]!)} got ${goQuoteList(given)}`
          : `oidc: expected audience in ${goQuoteList([...audiences].sort())} got ${goQuoteList(given)}`,
      )
    const now = clock.now() / 1000
    const end = Number(exp ?? firstSecond)
    if (!(end >= now)) throw new Error(`oidc: token is expired (Token Expiry: ${shownTime(end)})`)
    if (Number(nbf ?? 0) > now + limits.jwtEarlySeconds)
      throw new Error(
        `oidc: current time ${shownTime(now)} before the nbf (not before) time: ${shownTime(Number(nbf))}`,
      )
  }

  async #checkSignature(token: string, keys: Keys): Promise<void> {
    const { algorithms } = this.#options
    const alg = algorithmOf(token)
    if (!algorithms.includes(alg))
      throw new Error(
        `oidc: id token signed with unsupported algorithm, expected ${goQuoteList(algorithms)} got ${goQuote(alg)}`,
      )
    if (await isSigned(token, keys)) return
    // Perhaps it was signed with a newer key: not every token names its key.
    if (!keys.coolingDown) {
      await keys.reload().catch((error: Error) => {
        throw new Error(`failed to verify signature: fetching keys oidc: ${error.message}`)
      })
      if (await isSigned(token, keys)) return
    }
    throw new Error('failed to verify signature: failed to verify id token signature')
  }
}

const holds = (verified: Promise<unknown>): Promise<boolean> =>
  verified.then(
    () => true,
    () => false,
  )

/** Tries all keys if the token names none. Rejects if the keys cannot be read. */
const isSigned = async (token: string, keys: Keys): Promise<boolean> => {
  const { compactVerify, errors } = await import('jose')
  try {
    await compactVerify(token, keys)
    return true
  } catch (error) {
    if (error instanceof errors.JWKSMultipleMatchingKeys) {
      for await (const key of error) if (await holds(compactVerify(token, key))) return true
      return false
    }
    if (error instanceof errors.JOSEError) return false
    throw new Error(`failed to verify signature: fetching keys oidc: ${(error as Error).message}`, {
      cause: error,
    })
  }
}

const firstSecond = Date.parse(zeroTime) / 1000

/** As Go prints it, in UTC. */
const shownTime = (seconds: number): string =>
  `${new Date(seconds * 1000).toISOString().slice(0, 19).replace('T', ' ')} +0000 UTC`
