import { X509Certificate } from 'node:crypto'
import { isIP } from 'node:net'
import { checkServerIdentity, type PeerCertificate } from 'node:tls'

type IdentityCheck = (host: string, certificate: PeerCertificate) => Error | undefined

interface ServerName {
  readonly servername: string
  readonly checkServerIdentity: IdentityCheck
}

/** Go looks at a certificate's alternative names alone; Node would also take the common name of its subject. */
export const certificateIsFor: IdentityCheck = (host, certificate) => {
  // Node 22.23 takes an address of IPv6 for a name.
  if (isIP(host) === 6 && new X509Certificate(certificate.raw).checkIP(host)) return undefined
  const { CN: _, ...subject } = certificate.subject ?? {}
  const named = { ...certificate, subject: subject as PeerCertificate['subject'] }
  const mismatch = checkServerIdentity(host, named)
  return mismatch && Object.assign(mismatch, { cert: certificate })
}

/**
 * TLS options for a server whose certificate has to be for `name`. An address is not sent (RFC 6066; Node 26 throws),
 * but the certificate is checked against it, as Go does.
 */
export const serverNamed = (name: string): ServerName => ({
  servername: isIP(name) === 0 ? name : '',
  checkServerIdentity: (_, certificate) => certificateIsFor(name, certificate),
})
