/** Bounds the requests that run at once, reading and writing ones apart; long-running ones do not count. */

import { PlainTextError } from '#api/plain-text-error.js'
import type { RequestInfo } from '#api/request-info.js'
import type { Filter } from './kube-request.js'
import type { OpenRequests } from './open-requests.js'

export interface InFlightLimits {
  /** 0 is no bound. */
  readonly reading: number
  readonly mutating: number
}

const longRunningSubresources = new Set(['attach', 'exec', 'proxy', 'log', 'portforward'])

/** Watches and streams last as long as their client wants: no deadline, no share of the limit. */
export const isLongRunning = (info: RequestInfo): boolean =>
  info.verb === 'watch' || info.verb === 'proxy' || longRunningSubresources.has(info.subresource)

const readingVerbs = new Set(['get', 'list', 'watch', 'head', 'options'])

export const maxInFlight = (limits: InFlightLimits, open: OpenRequests): Filter => {
  const { running } = open
  return (request, reply) => {
    const { kube } = request
    const longRunning = isLongRunning(kube.info)
    if (!longRunning) {
      const kind = readingVerbs.has(kube.info.verb) ? 'reading' : 'mutating'
      // Upstream lets administrators through, so that an overload can be looked into.
      const full = limits[kind] > 0 && running[kind] >= limits[kind]
      if (full && !kube.user.groups.includes('system:masters'))
        throw new PlainTextError(429, 'Too many requests, please try again later.\n', {
          'retry-after': '1',
        })
      running[kind]++
      reply.raw.once('close', () => {
        running[kind]--
      })
    }
    open.add(kube, reply, longRunning)
  }
}
