/** Asks the authorizer; answers 403 in upstream's words (pkg/endpoints/handlers/responsewriters/errors.go). */
import { type ApiError, forbidden, internalError } from '#api/errors.js'
import { type Attributes, type Authorizer, attributesOf, type Decision } from '#authz/authorizer.js'
import type { Filter } from './kube-request.js'

const quoted = (text: string): string => JSON.stringify(text)

export const forbiddenMessage = (a: Attributes): string => {
  const user = `User ${quoted(a.user.name)}`
  if (!a.isResourceRequest) return `${user} cannot ${a.verb} path ${quoted(a.path)}`
  const resource = a.subresource === '' ? a.resource : `${a.resource}/${a.subresource}`
  const what = `${user} cannot ${a.verb} resource ${quoted(resource)} in API group ${quoted(a.apiGroup)}`
  return a.namespace === ''
    ? `${what} at the cluster scope`
    : `${what} in the namespace ${quoted(a.namespace)}`
}

export const forbiddenError = (a: Attributes, reason = ''): ApiError =>
  forbidden(
    { group: a.apiGroup, resource: a.resource },
    a.name,
    reason === '' ? forbiddenMessage(a) : `${forbiddenMessage(a)}: ${reason}`,
  )

const enforce = (attributes: Attributes, decision: Decision): void => {
  if (decision.decision !== 'allow') throw forbiddenError(attributes, decision.reason)
}

export const authorization =
  (authorizer: Authorizer): Filter =>
  (request) => {
    const attributes = attributesOf(request.kube.user, request.kube.info)
    const decision = authorizer.authorize(attributes)
    if (!(decision instanceof Promise)) return enforce(attributes, decision)
    return decision.then(
      (known) => enforce(attributes, known),
      (error: unknown) => {
        throw internalError('authorization failed', { cause: error, log: error })
      },
    )
  }
