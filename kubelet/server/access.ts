/**
 * Authenticates and authorizes requests to the kubelet: by a client certificate of the cluster's CA or a TokenReview, and
 * then by a SubjectAccessReview about this Node. Upstream: pkg/kubelet/server/auth.go.
 */
import type { IncomingMessage } from 'node:http'
import type { TLSSocket } from 'node:tls'
import { bearerToken, protocolToken } from '#api/bearer-token.js'
import { authenticatedGroup, type UserInfo } from '#api/user-info.js'
import type { Client } from '#client/client.js'
import { messageOf } from '#client/errors.js'
import type { Log } from '#client/log.js'
import { resources } from '#client/resources.js'
import { ExpiringCache } from '#collections/expiring-cache.js'
import { canonicalJson, getOwn } from '#json/object.js'
import { limits } from '#limits'
import { commonNameOf, organizationsOf } from '#net/certificate-names.js'
import { HttpError } from './pod-request.js'

interface AccessOptions {
  readonly client: Client
  readonly log: Log
  readonly nodeName: string
  /** Whether certificates can be told from others at all. */
  readonly knowsCa: boolean
}

const verbs: Readonly<Record<string, string>> = {
  POST: 'create',
  GET: 'get',
  PUT: 'update',
  PATCH: 'patch',
  DELETE: 'delete',
}

/** Subresources of the Node by path; a right to any of them is enough. All other paths are `proxy`. */
const subresources: Readonly<Record<string, readonly string[]>> = {
  pods: ['pods', 'proxy'],
  healthz: ['healthz', 'proxy'],
  configz: ['configz', 'proxy'],
  runningpods: ['pods', 'proxy'],
  stats: ['stats'],
  metrics: ['metrics'],
  logs: ['log'],
  checkpoint: ['checkpoint'],
  statusz: ['statusz'],
  flagz: ['configz'],
}

/** Reviews that are kept for a time. */
class Answers<T> {
  readonly #known = new ExpiringCache<{ answer: T }>(limits.kubeletReviewsKept)

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

export class Access {
  readonly #options: AccessOptions
  readonly #users = new Answers<UserInfo | undefined>()
  readonly #decisions = new Answers<boolean>()

  constructor(options: AccessOptions) {
    this.#options = options
  }

  /** Throws an HttpError if the user is not allowed. `page` is the first part of the path. */
  async check(request: IncomingMessage, page: string): Promise<void> {
    const user = await this.#userOf(request).catch((error) => {
      this.#options.log.warn({ error: messageOf(error) }, 'a request could not be authenticated')
      return undefined
    })
    if (!user) throw new HttpError(401, 'Unauthorized')
    const verb = verbs[request.method ?? ''] ?? ''
    const wanted = getOwn(subresources, page) ?? ['proxy']
    for (const subresource of wanted) if (await this.#may(user, verb, subresource)) return
    throw new HttpError(
      403,
      `Forbidden (user=${user.name}, verb=${verb}, resource=nodes, subresource(s)=[${wanted.join(' ')}])\n`,
    )
  }

  async #userOf({ socket, headers }: IncomingMessage): Promise<UserInfo | undefined> {
    const tls = socket as TLSSocket
    if (this.#options.knowsCa && tls.authorized) {
      const certificate = tls.getPeerCertificate()
      const name = commonNameOf(certificate)
      if (name) return { name, groups: [...organizationsOf(certificate), authenticatedGroup] }
    }
    const token = bearerToken(headers.authorization) ?? protocolToken(headers)
    return token === undefined ? undefined : this.#userWith(token)
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

  async #may(user: UserInfo, verb: string, subresource: string): Promise<boolean> {
    const { client, log, nodeName: name } = this.#options
    const { name: asking, uid, groups, extra } = user
    const spec = {
      user: asking,
      ...(uid ? { uid } : {}),
      groups,
      ...(extra ? { extra } : {}),
      resourceAttributes: { verb, version: 'v1', resource: 'nodes', subresource, name },
    }
    try {
      return await this.#decisions.of(canonicalJson(spec), async () => {
        const { status } = await client.create<{ status?: { allowed?: boolean } }>(
          resources.subjectAccessReviews,
          { spec },
        )
        const answer = status?.allowed === true
        return { answer, holdsMs: answer ? limits.allowedReviewMs : limits.deniedReviewMs }
      })
    } catch (error) {
      log.warn({ user: asking, error: messageOf(error) }, 'a request could not be authorized')
      throw new HttpError(
        500,
        `Authorization error (user=${asking}, verb=${verb}, resource=nodes, subresource=${subresource})`,
      )
    }
  }
}
