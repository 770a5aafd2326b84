/** Asks the authorizer; answers 403 in upstream's words (pkg/endpoints/handlers/responsewriters/errors.go). */

import type { FastifyRequest } from 'fastify'
import { type ApiError, forbidden, internalError } from '#api/errors.js'
import { internalFailure, noSniff, withoutMarkup } from '#api/plain-text-error.js'
import {
  type Attributes,
  type Authorizer,
  attributesOf,
  type Decision,
  errorOf,
} from '#authz/authorizer.js'
import { goQuote } from '#go/quote.js'
import type { Filter } from './kube-request.js'

const forbiddenMessage = (a: Attributes): string => {
  const user = `User ${goQuote(a.user.name)}`
  if (!a.isResourceRequest) return `${user} cannot ${a.verb} path ${goQuote(a.path)}`
  const resource = a.subresource === '' ? a.resource : `${a.resource}/${a.subresource}`
  const what = `${user} cannot ${a.verb} resource ${goQuote(resource)} in API group ${goQuote(a.apiGroup)}`
  return a.namespace === ''
    ? `${what} at the cluster scope`
    : `${what} in the namespace ${goQuote(a.namespace)}`
}

export const forbiddenError = (a: Attributes, reason: string): ApiError => {
  const message = withoutMarkup(forbiddenMessage(a))
  return forbidden(
    { group: a.apiGroup, resource: a.resource },
    a.name,
    reason === '' ? message : `${message}: ${reason}`,
  )
}

/** Upstream's filters send refusals with `nosniff` (RespondWithError). */
export const unsniffed = (error: ApiError): ApiError => {
  error.headers = noSniff
  return error
}

export const refusedByFilter = (a: Attributes, reason: string): ApiError =>
  unsniffed(forbiddenError(a, reason))

/** Errors of an authorizer do not matter if the request is allowed. */
const enforce = ({ kube, url }: FastifyRequest, attributes: Attributes, made: Decision): void => {
  const { audit } = kube
  const { decision, reason, errors } = made
  const isAllowed = decision === 'allow'
  if (!isAllowed && errors !== undefined) {
    audit?.annotate('authorization.k8s.io/reason', 'internal error')
    throw internalFailure(url, errorOf(made))
  }
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
    if (!(decision instanceof Promise)) return enforce(request, attributes, decision)
    return decision.then(
      (known) => enforce(request, attributes, known),
      (error: unknown) => {
        kube.audit?.annotate('authorization.k8s.io/reason', 'internal error')
        throw internalError('authorization failed', { cause: error })
      },
    )
  }
