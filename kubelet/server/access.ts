/** What callers of the kubelet need: rights to subresources of its Node. Upstream: pkg/kubelet/server/auth.go. */
import type { IncomingMessage } from 'node:http'
import type { UserInfo } from '#api/user-info.js'
import { messageOf } from '#client/errors.js'
import type { Log } from '#client/log.js'
import type { Callers } from '#component/callers.js'
import { getOwn } from '#json/object.js'
import { HttpError } from './pod-request.js'

interface AccessOptions {
  readonly callers: Callers
  readonly log: Log
  readonly nodeName: string
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

export class Access {
  readonly #options: AccessOptions

  constructor(options: AccessOptions) {
    this.#options = options
  }

  /** Throws an HttpError if the user is not allowed. `page` is the first part of the path. */
  async check(request: IncomingMessage, page: string): Promise<void> {
    const user = await this.#options.callers.userOf(request)
    if (!user) throw new HttpError(401, 'Unauthorized')
    const verb = getOwn(verbs, request.method ?? '') ?? ''
    const wanted = getOwn(subresources, page) ?? ['proxy']
    for (const subresource of wanted) if (await this.#may(user, verb, subresource)) return
    throw new HttpError(
      403,
      `Forbidden (user=${user.name}, verb=${verb}, resource=nodes, subresource(s)=[${wanted.join(' ')}])\n`,
    )
  }

  async #may(user: UserInfo, verb: string, subresource: string): Promise<boolean> {
    const { callers, log, nodeName: name } = this.#options
    const resourceAttributes = { verb, version: 'v1', resource: 'nodes', subresource, name }
    try {
      return await callers.may(user, { resourceAttributes })
    } catch (error) {
      log.warn({ user: user.name, error: messageOf(error) }, 'a request could not be authorized')
      throw new HttpError(
        500,
        `Authorization error (user=${user.name}, verb=${verb}, resource=nodes, subresource=${subresource})`,
      )
    }
  }
}
