/** Reads the `timeout` parameter, and refuses one that is no duration before anybody asks who sent it (apiserver, request_deadline.go). */

import { durationMs, durationProblem } from '#api/duration.js'
import { badRequest } from '#api/errors.js'
import type { RequestInfo } from '#api/request-info.js'
import { limits } from '#limits'
import type { Filter } from './kube-request.js'

const longVerbs = new Set(['watch', 'proxy'])
const longSubresources = new Set(['attach', 'exec', 'proxy', 'log', 'portforward'])

/** They have no deadline, so nobody reads theirs. */
const isLongRunning = ({ isResourceRequest, verb, subresource }: RequestInfo): boolean =>
  isResourceRequest && (longVerbs.has(verb) || longSubresources.has(subresource))

export const requestTimeout: Filter = (request) => {
  const url = request.raw.url ?? ''
  if (!url.includes('timeout=') || isLongRunning(request.kube.info)) return
  const text = new URLSearchParams(url.slice(url.indexOf('?') + 1)).get('timeout')
  if (!text) return
  const problem = durationProblem(text)
  if (problem !== undefined)
    throw badRequest(`invalid timeout specified in the request URL - ${problem}`)
  const wanted = durationMs(text)
  if (wanted > 0 && wanted < limits.requestTimeoutMs) request.kube.timeoutMs = wanted
}
