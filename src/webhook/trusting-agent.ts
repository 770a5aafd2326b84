/**
 * Connections to servers whose certificates are checked as Go's x509.Verify checks them, also where OpenSSL would not:
 * - One has the very subject of its authority. Go leaves the id of the authority's key out of such a certificate
 *   (CreateCertificate), and OpenSSL takes it for one that signed itself. The webhooks of Knative and Tekton have such.
 * - Its key usage has none of those of a server. Go looks at the extended one alone.
 */
import type { X509Certificate } from 'node:crypto'
import https, { type RequestOptions } from 'node:https'
import type { ConnectionOptions, TLSSocket } from 'node:tls'
import { systemClock } from '#api/clock.js'
import { hasSigned, serves } from '#net/certificate-use.js'
import { certificatesOf } from '#net/pem.js'
import { certificateIsFor } from '#net/server-name.js'
import { boundsNames, isSoundlySigned } from '#net/x509.js'

/** By the system's clock, as TLS itself. */
const isInForce = ({ validFrom, validTo }: X509Certificate): boolean => {
  const now = systemClock.now()
  return Date.parse(validFrom) <= now && now <= Date.parse(validTo)
}

/** An authority for some names alone is none here: its servers have to do without the excuse. */
const isSignedBy = (leaf: X509Certificate, authorities: string): boolean =>
  serves(leaf, 'server') &&
  isSoundlySigned(leaf) &&
  certificatesOf(authorities).some(
    (ca) => !boundsNames(ca) && isInForce(ca) && hasSigned(ca, leaf, 'server'),
  )

const excused: readonly unknown[] = ['DEPTH_ZERO_SELF_SIGNED_CERT', 'INVALID_PURPOSE']

type Trust = Required<Pick<ConnectionOptions, 'ca' | 'checkServerIdentity'>>

/** Undefined where the server is to be trusted. */
const refusal = (
  socket: TLSSocket,
  host: string,
  { ca, checkServerIdentity }: Trust,
): Error | undefined => {
  // A code, whatever the types of Node say. OpenSSL goes on after these findings and tells its last one alone, so the
  // leaf's time, which comes later, is in order.
  const code = socket.authorizationError as string | Error | null | undefined
  if (!code) return undefined
  const leaf = socket.getPeerX509Certificate()
  if (!excused.includes(code) || !leaf || !isSignedBy(leaf, String(ca)))
    return Object.assign(new Error(String(code)), { code })
  return checkServerIdentity(host, leaf.toLegacyObject())
}

export class TrustingAgent extends https.Agent {
  /** Sessions are not resumed: the certificate is not shown again then. Nor does client-go. */
  constructor(options: Omit<https.AgentOptions, 'maxCachedSessions'>) {
    super({ ...options, maxCachedSessions: 0 })
  }

  override createConnection(
    ...[options, callback]: Parameters<https.Agent['createConnection']>
  ): ReturnType<https.Agent['createConnection']> {
    const { ca, rejectUnauthorized, checkServerIdentity = certificateIsFor } = options
    if (ca === undefined || rejectUnauthorized === false)
      return super.createConnection(options, callback)
    let mismatch: Error | undefined
    const lenient: RequestOptions = {
      ...options,
      rejectUnauthorized: false,
      checkServerIdentity: (host, certificate) => {
        mismatch = checkServerIdentity(host, certificate)
        return mismatch
      },
    }
    const socket = super.createConnection(lenient, callback) as TLSSocket
    // In the same turn in which Node would refuse it: nothing has been sent yet. TLS 1.2 may show another certificate
    // later on.
    socket.prependListener('secureConnect', () => {
      const host = options.servername || options.host || ''
      const error = mismatch ?? refusal(socket, host, { ca, checkServerIdentity })
      if (error) socket.destroy(error)
    })
    return socket
  }
}

/** For requests that have a connection of their own. */
export const ownConnections = new TrustingAgent({ keepAlive: false })
