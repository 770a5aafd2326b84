/** Authenticates the request. Invalid credentials are refused even on paths that anonymous users may see. */
import type { FastifyReply, FastifyRequest } from 'fastify'
import { bearerToken, protocolToken } from '#api/bearer-token.js'
import { unauthorized } from '#api/errors.js'
import { anonymousUser, type UserInfo, unauthenticatedGroup } from '#api/user-info.js'
import type { Authenticator, TokenNotes } from '#authn/authenticator.js'
import type { CertificateReader, Standing } from '#authn/client-certificate.js'
import { connectionOf } from '#authn/connection.js'
import { goAway } from './connection-ends.js'
import type { Filter } from './kube-request.js'

const spacedToken = /^\s*bearer {2,}[^ ]/i
const spacedTokenWarning =
  '299 - "the provided Authorization header contains extra space before the bearer token, and is ignored"'

const notesOn = ({ kube }: FastifyRequest, reply: FastifyReply): TokenNotes => ({
  warn: (text) => void reply.header('warning', `299 - "${text}"`),
  annotate(key, value) {
    kube.authenticationNotes ??= []
    kube.authenticationNotes.push([key, value])
  },
})

/**
 * HTTP/2 is dear and prone to abuse, so who has no valid credentials gets one request a connection (authentication.go,
 * UnauthenticatedHTTP2DOSMitigation).
 */
const endUnlessKnown = (user: UserInfo | undefined | 'rejected', reply: FastifyReply): void => {
  if (user === undefined || user === 'rejected' || user.groups.includes(unauthenticatedGroup))
    goAway(reply)
}

const accept = (
  request: FastifyRequest,
  reply: FastifyReply,
  user: UserInfo | undefined | 'rejected',
  allowsAnonymous: (path: string) => boolean,
): void => {
  endUnlessKnown(user, reply)
  if (user === 'rejected' || (user === undefined && !allowsAnonymous(request.kube.info.path)))
    throw unauthorized()
  request.kube.user = user ?? anonymousUser
}

interface Settled {
  readonly authorization: string | undefined
  readonly user: UserInfo
  readonly standing: Standing
}

export const authentication = (
  authenticator: Authenticator,
  allowsAnonymous: (path: string) => boolean,
  certificates: CertificateReader,
): Filter => {
  /**
   * The last user of a connection with its Authorization header: clients send the same one each time. Only synchronous
   * answers are kept, since these never change while the server runs (authenticator.ts) but with what a certificate
   * stands on; credentials that can be revoked are checked each time.
   */
  const settled = new WeakMap<object, Settled>()
  const authenticate = (
    request: FastifyRequest,
    reply: FastifyReply,
  ): Promise<void> | undefined => {
    const { authorization } = request.headers
    if (authorization !== undefined && spacedToken.test(authorization))
      reply.header('warning', spacedTokenWarning)
    const connection = connectionOf(request)
    const known = settled.get(connection)
    if (
      known !== undefined &&
      known.authorization === authorization &&
      certificates.holds(known.standing)
    ) {
      request.kube.user = known.user
      return undefined
    }
    const vouchedFor = certificates.frontProxyUser(request)
    if (vouchedFor !== undefined) {
      endUnlessKnown(vouchedFor, reply)
      request.kube.user = vouchedFor
      return undefined
    }
    const token = bearerToken(authorization)
    const ofProtocol = token === undefined ? protocolToken(request.headers) : undefined
    const answer = authenticator.authenticate(
      {
        token: token ?? ofProtocol,
        certificate: certificates.identity(request),
      },
      notesOn(request, reply),
    )
    if (answer instanceof Promise)
      return answer.then((user) => accept(request, reply, user, allowsAnonymous))
    accept(request, reply, answer, allowsAnonymous)
    // Without credentials the answer depends on the path, so it is not kept.
    if (answer !== undefined && ofProtocol === undefined && !certificates.isFrontProxy(request))
      settled.set(connection, {
        authorization,
        user: request.kube.user,
        standing: certificates.standing(request),
      })
    return undefined
  }
  return (request, reply) => {
    const done = authenticate(request, reply)
    certificates.clearFrontProxyHeaders(request)
    return done
  }
}
