/** The user of a TLS client certificate: CN is the name, each O a group. */

import type { TLSSocket } from 'node:tls'
import type { FastifyRequest } from 'fastify'
import type { UserInfo } from '#api/user-info.js'
import { type Credentials, withAuthenticatedGroup } from './authenticator.js'

// A certificate belongs to a connection: it is read once for all requests on it.
const identities = new WeakMap<object, { identity: Credentials['certificate'] }>()

const all = (value: string | string[] | undefined): string[] =>
  value === undefined ? [] : Array.isArray(value) ? value : [value]

const read = (socket: TLSSocket): Credentials['certificate'] => {
  const certificate = socket.getPeerCertificate?.()
  if (certificate === undefined || certificate === null || certificate.subject === undefined)
    return undefined
  if (!socket.authorized) return 'invalid'
  const subject = certificate.subject as unknown as Record<string, string | string[]>
  const name = all(subject.CN)[0]
  if (name === undefined || name === '') return 'invalid'
  const user: UserInfo = {
    name,
    groups: all(subject.O),
    extra: {
      'authentication.kubernetes.io/credential-id': [
        `X509SHA256=${certificate.fingerprint256.replaceAll(':', '').toLowerCase()}`,
      ],
    },
  }
  return withAuthenticatedGroup(user)
}

export const certificateIdentity = (request: FastifyRequest): Credentials['certificate'] => {
  const socket = request.raw.socket as TLSSocket
  const known = identities.get(socket)
  if (known !== undefined) return known.identity
  const identity = read(socket)
  identities.set(socket, { identity })
  return identity
}
