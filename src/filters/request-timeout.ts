/** Reads the `timeout` parameter, and refuses one that is no duration before anybody asks who sent it (apiserver, request_deadline.go). */

import { badRequest } from '#api/errors.js'
import { durationMs, durationProblem } from '#go/duration.js'
import { Query } from '#registry/query.js'
import type { Filter } from './kube-request.js'
import { isLongRunning } from './long-running.js'
import { lateError } from './open-requests.js'

/** The shortest delay of a timer. Upstream cannot answer anything in less time either. */
const shortestMs = 1

/** `longestMs` is the server's own deadline. */
export const requestTimeout =
  (longestMs: number): Filter =>
  (request) => {
    const url = request.url
    // Long-running requests have no deadline, so their parameter is not read.
    if (!url.includes('timeout=') || isLongRunning(request.kube.info)) return
    const text = new Query(url).text('timeout')
    if (!text) return
    const problem = durationProblem(text)
    if (problem !== undefined)
      throw badRequest(`invalid timeout specified in the request URL - ${problem}`)
    const wanted = durationMs(text)
    if (wanted > 0 && wanted < shortestMs) throw lateError()
    if (wanted > 0 && wanted < longestMs) request.kube.timeoutMs = wanted
  }
