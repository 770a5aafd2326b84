/**
 * Who calls a component of the cluster that serves a port of its own, and what they may: the API server is asked, by
 * TokenReviews and SubjectAccessReviews, and client certificates are known by their CA. Upstream:
 * apiserver/pkg/authentication/authenticatorfactory and authorization/authorizerfactory.
 */
import type { IncomingMessage } from 'node:http'
import type { TLSSocket } from 'node:tls'
import { bearerToken, protocolToken } from '#api/bearer-token.js'
import { anonymousUser, authenticatedGroup, type UserInfo } from '#api/user-info.js'
import type { Client } from '#client/client.js'
import { messageOf } from '#client/errors.js'
import type { Log } from '#client/log.js'
import { resources } from '#client/resources.js'
import { ExpiringCache } from '#collections/expiring-cache.js'
import { canonicalJson } from '#json/object.js'
import { limits } from '#limits'
import { commonNameOf, organizationsOf } from '#net/certificate-names.js'

interface CallersOptions {
  readonly client: Client
  readonly log: Log
  /** Whether certificates can be told from others at all. */
  readonly knowsCa: boolean
  /** Whether a request without credentials is system:anonymous's. */
  readonly takesAnonymous: boolean
}

/** Of a SubjectAccessReview: what is asked for. */
type AccessAttributes =
  | { readonly resourceAttributes: Readonly<Record<string, string>> }
  | { readonly nonResourceAttributes: Readonly<Record<'path' | 'verb', string>> }

/** Reviews that are kept for a time. */
class Answers<T> {
  readonly #known = new ExpiringCache<{ answer: T }>(limits.componentReviewsKept)

  async of(key: string, ask: () => Promise<{ answer: T; holdsMs: number }>): Promise<T> {
    const known = this.#known.get(key, performance.now())
    if (known) return known.answer
    const { answer, holdsMs } = await ask()
    this.#known.set(key, { answer }, performance.now() + holdsMs)
    return answer
  }
}

interface TokenReviewStatus {
  authenticated?: boolean
  user?: { username?: string; uid?: string; groups?: string[]; extra?: Record<string, string[]> }
}

export class Callers {
  readonly #options: CallersOptions
  readonly #users = new Answers<UserInfo | undefined>()
  readonly #decisions = new Answers<boolean>()

  constructor(options: CallersOptions) {
    this.#options = options
  }

  /** Undefined if nobody is known by the credentials, or nobody could be asked. */
  async userOf(request: IncomingMessage): Promise<UserInfo | undefined> {
    try {
      return await this.#identify(request)
    } catch (error) {
      this.#options.log.warn({ error: messageOf(error) }, 'a request could not be authenticated')
      return undefined
    }
  }

  async #identify({ socket, headers }: IncomingMessage): Promise<UserInfo | undefined> {
    const tls = socket as TLSSocket
    if (this.#options.knowsCa && tls.authorized) {
      const certificate = tls.getPeerCertificate()
      const name = commonNameOf(certificate)
      if (name) return { name, groups: [...organizationsOf(certificate), authenticatedGroup] }
    }
    const token = bearerToken(headers.authorization) ?? protocolToken(headers)
    if (token === undefined) return this.#options.takesAnonymous ? anonymousUser : undefined
    return this.#userWith(token)
  }

  #userWith(token: string): Promise<UserInfo | undefined> {
    return this.#users.of(token, async () => {
      const { status } = await this.#options.client.create<{ status?: TokenReviewStatus }>(
        resources.tokenReviews,
        { spec: { token } },
      )
      const { username = '', uid, groups = [], extra } = status?.user ?? {}
      const user = { name: username, ...(uid ? { uid } : {}), groups, ...(extra ? { extra } : {}) }
      const answer = status?.authenticated === true ? user : undefined
      return { answer, holdsMs: limits.tokenReviewMs }
    })
  }

  /** Rejects if nobody could be asked. */
  may({ name, uid, groups, extra }: UserInfo, attributes: AccessAttributes): Promise<boolean> {
    const spec = {
      user: name,
      ...(uid ? { uid } : {}),
      groups,
      ...(extra ? { extra } : {}),
      ...attributes,
    }
    return this.#decisions.of(canonicalJson(spec), async () => {
      const { status } = await this.#options.client.create<{ status?: { allowed?: boolean } }>(
        resources.subjectAccessReviews,
        { spec },
      )
      const answer = status?.allowed === true
      return { answer, holdsMs: answer ? limits.allowedReviewMs : limits.deniedReviewMs }
    })
  }
}
