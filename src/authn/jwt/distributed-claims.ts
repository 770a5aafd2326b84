/**
 * Distributed claims, for which the token only names an endpoint (OpenID Connect Core, 5.6.2). Providers use them for
 * users with too many groups. The endpoint answers with a token of its own.
 */
import { isJsonObject } from '#json/object.js'
import type { JsonObject } from '#json/value.js'
import { limits } from '#limits'
import { Issuer, type IssuerOptions, NotReadyError, requestOf, unverifiedClaims } from './issuer.js'

interface Source {
  readonly endpoint: string
  readonly accessToken: string
}

/** Undefined if the claim is not distributed. The names have been checked when the token was verified. */
const sourceOf = (claims: JsonObject, claim: string): Source | undefined => {
  const { _claim_names: names, _claim_sources: sources } = claims
  const name = isJsonObject(names) ? names[claim] : undefined
  const source = isJsonObject(sources) ? sources[String(name)] : undefined
  if (name === undefined || !isJsonObject(source)) return undefined
  const { endpoint, access_token: accessToken = '' } = source
  return endpoint ? { endpoint: String(endpoint), accessToken: String(accessToken) } : undefined
}

export class DistributedClaims {
  readonly #options: Omit<IssuerOptions, 'url'>
  readonly #get: ReturnType<typeof requestOf>
  readonly #issuers = new Map<string, { issuer: Issuer; asked: Promise<void> }>()

  constructor(options: Omit<IssuerOptions, 'url'>) {
    this.#options = options
    this.#get = requestOf(options.certificateAuthority)
  }

  close(): void {
    for (const { issuer } of this.#issuers.values()) issuer.close()
  }

  /** The claims including the distributed one. Rejects if it cannot be read. */
  async expand(claims: JsonObject, claim: string): Promise<JsonObject> {
    const source = Object.hasOwn(claims, claim) ? undefined : sourceOf(claims, claim)
    if (source === undefined) return claims
    const token = await this.#tokenOf(source).catch((error: Error) => {
      throw new Error(`while getting distributed claim "${claim}": ${error.message}`)
    })
    const url = unverifiedClaims(token)?.iss
    if (typeof url !== 'string')
      throw new Error(
        `getting untrusted issuer from endpoint ${source.endpoint} failed for claim "${claim}": malformed token`,
      )
    const issuer = await this.#issuerOf(url)
    const told = await issuer.verify(token).catch((error: Error) => {
      if (error instanceof NotReadyError)
        throw new Error(
          `verifying untrusted issuer ${url} failed: verifier not initialized for issuer: "${url}"`,
        )
      throw new Error(`verify distributed claim token: ${error.message}`)
    })
    if (!Object.hasOwn(told, claim))
      throw new Error(
        `jwt returned by distributed claim endpoint "${source.endpoint}" did not contain claim: ${claim}`,
      )
    return { ...claims, [claim]: told[claim]! }
  }

  async #tokenOf({ endpoint, accessToken }: Source): Promise<string> {
    const headers: Record<string, string> =
      accessToken === '' ? {} : { authorization: `Bearer ${accessToken}` }
    const { code, text, message } = await this.#get(endpoint, headers)
    if (code >= 200 && code <= 226) return text
    throw new Error(`error while getting distributed claim JWT: ${code} ${message}`)
  }

  async #issuerOf(url: string): Promise<Issuer> {
    let known = this.#issuers.get(url)
    if (known === undefined) {
      if (this.#issuers.size >= limits.jwtIssuersMax) throw new Error('too many issuers of claims')
      const issuer = new Issuer({ ...this.#options, url })
      this.#issuers.set(url, (known = { issuer, asked: issuer.start() }))
    }
    await known.asked
    return known.issuer
  }
}
