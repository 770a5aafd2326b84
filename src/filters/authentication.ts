/** Finds out who asks; refuses credentials that do not hold, even on paths that anonymous users may see. */
import type { FastifyRequest } from 'fastify'
import { unauthorized } from '#api/errors.js'
import { anonymousUser, type UserInfo } from '#api/user-info.js'
import type { Authenticator } from '#authn/authenticator.js'
import { certificateIdentity } from '#authn/client-certificate.js'
import type { Filter } from './kube-request.js'

/** The token of `Authorization: Bearer x`; undefined for an empty one and for other schemes (then: anonymous). */
export const bearerToken = (header: string | undefined): string | undefined => {
  if (header === undefined) return undefined
  const [scheme, token] = header.trim().split(' ')
  return scheme?.toLowerCase() === 'bearer' && token ? token : undefined
}

const accept = (
  request: FastifyRequest,
  user: UserInfo | undefined | 'rejected',
  allowAnonymous: boolean,
): void => {
  if (user === 'rejected' || (user === undefined && !allowAnonymous)) throw unauthorized()
  request.kube.user = user ?? anonymousUser
}

export const authentication =
  (authenticator: Authenticator, allowAnonymous: boolean): Filter =>
  (request) => {
    const answer = authenticator.authenticate({
      token: bearerToken(request.headers.authorization),
      certificate: certificateIdentity(request),
    })
    if (answer instanceof Promise)
      return answer.then((user) => accept(request, user, allowAnonymous))
    accept(request, answer, allowAnonymous)
  }
