import { isIP } from 'node:net'
import { checkServerIdentity, type PeerCertificate } from 'node:tls'

interface ServerName {
  readonly servername: string
  readonly checkServerIdentity?: (host: string, certificate: PeerCertificate) => Error | undefined
}

/**
 * TLS options for a server whose certificate has to be for `name`. An address is not sent (RFC 6066; Node 26 throws),
 * but the certificate is checked against it, as Go does.
 */
export const serverNamed = (name: string): ServerName =>
  isIP(name) === 0
    ? { servername: name }
    : { servername: '', checkServerIdentity: (_, cert) => checkServerIdentity(name, cert) }
