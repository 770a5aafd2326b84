/** Bounds the requests that run at once, reading and writing ones apart; long-running ones do not count. */

import { noSniff, PlainTextError } from '#api/plain-text-error.js'
import type { RequestInfo } from '#api/request-info.js'
import type { Filter } from './kube-request.js'
import type { InFlight, OpenRequests } from './open-requests.js'

/** 0 is no bound. */
export type InFlightLimits = Readonly<InFlight>

const longRunningSubresources = new Set(['attach', 'exec', 'proxy', 'log', 'portforward'])

/** Watches, streams and profiles last as long as their client wants: no deadline, no share of the limit. */
export const isLongRunning = (info: RequestInfo): boolean =>
  info.verb === 'watch' ||
  info.verb === 'proxy' ||
  longRunningSubresources.has(info.subresource) ||
  (!info.isResourceRequest && info.path.startsWith('/debug/pprof/'))

const readingVerbs = new Set(['get', 'list', 'watch', 'head', 'options'])

/** Which limit counts it; undefined for a long-running one. */
const kindOf = (info: RequestInfo): keyof InFlight | undefined => {
  if (isLongRunning(info)) return undefined
  return readingVerbs.has(info.verb) ? 'reading' : 'mutating'
}

export const maxInFlight = (limits: InFlightLimits, open: OpenRequests): Filter => {
  const { running } = open
  return (request, reply) => {
    const { kube } = request
    const kind = kindOf(kube.info)
    if (kind !== undefined) {
      // Upstream lets administrators through, so that an overload can be looked into.
      const full = limits[kind] > 0 && running[kind] >= limits[kind]
      if (full && !kube.user.groups.includes('system:masters'))
        throw new PlainTextError(429, 'Too many requests, please try again later.\n', {
          ...noSniff,
          'retry-after': '1',
        })
    }
    open.add(kube, reply, kind)
  }
}
