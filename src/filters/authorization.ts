/** Asks the authorizer; answers 403 in upstream's words (pkg/endpoints/handlers/responsewriters/errors.go). */

import { type ApiError, forbidden, internalError } from '#api/errors.js'
import { goQuote } from '#api/go-quote.js'
import { noSniff } from '#api/plain-text-error.js'
import { type Attributes, type Authorizer, attributesOf, type Decision } from '#authz/authorizer.js'
import type { Filter, KubeRequest } from './kube-request.js'

const forbiddenMessage = (a: Attributes): string => {
  const user = `User ${goQuote(a.user.name)}`
  if (!a.isResourceRequest) return `${user} cannot ${a.verb} path ${goQuote(a.path)}`
  const resource = a.subresource === '' ? a.resource : `${a.resource}/${a.subresource}`
  const what = `${user} cannot ${a.verb} resource ${goQuote(resource)} in API group ${goQuote(a.apiGroup)}`
  return a.namespace === ''
    ? `${what} at the cluster scope`
    : `${what} in the namespace ${goQuote(a.namespace)}`
}

const inHtml: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;' }

/** What a client may have put into a message must not look like HTML. */
export const withoutMarkup = (text: string): string =>
  text.replace(/[&<>]/g, (char) => inHtml[char]!)

export const forbiddenError = (a: Attributes, reason: string): ApiError => {
  const message = withoutMarkup(forbiddenMessage(a))
  return forbidden(
    { group: a.apiGroup, resource: a.resource },
    a.name,
    reason === '' ? message : `${message}: ${reason}`,
  )
}

/** As a filter answers it (RespondWithError): no browser may guess that it is a page. */
export const unsniffed = (error: ApiError): ApiError => {
  error.headers = noSniff
  return error
}

export const refusedByFilter = (a: Attributes, reason: string): ApiError =>
  unsniffed(forbiddenError(a, reason))

const enforce = (
  { audit }: KubeRequest,
  attributes: Attributes,
  { decision, reason }: Decision,
): void => {
  const isAllowed = decision === 'allow'
  audit?.annotate('authorization.k8s.io/decision', isAllowed ? 'allow' : 'forbid')
  audit?.annotate('authorization.k8s.io/reason', reason)
  if (!isAllowed) throw refusedByFilter(attributes, reason)
}

export const authorization =
  (authorizer: Authorizer): Filter =>
  (request) => {
    const { kube } = request
    const attributes = attributesOf(kube.user, kube.info)
    const decision = authorizer.authorize(attributes)
    if (!(decision instanceof Promise)) return enforce(kube, attributes, decision)
    return decision.then(
      (known) => enforce(kube, attributes, known),
      (error: unknown) => {
        kube.audit?.annotate('authorization.k8s.io/reason', 'internal error')
        throw internalError('authorization failed', { cause: error, log: error })
      },
    )
  }
