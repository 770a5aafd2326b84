/**
 * What OpenSSL hides or has not asked where it refuses a certificate that Go's x509.Verify takes: it tells its last finding
 * alone. So there is an excuse only for one that an authority itself has signed, and what would have been said of the two
 * is asked again.
 */
import type { X509Certificate } from 'node:crypto'
import { isUnderstood } from './x509.js'

type Use = 'server' | 'client'

const anything = '2.5.29.37.0'
const purposes: Readonly<Record<Use, string>> = {
  server: '1.3.6.1.5.5.7.3.1',
  client: '1.3.6.1.5.5.7.3.2',
}

/** Node's `keyUsage` is the extended one, by its ids; undefined where the certificate does not bound its use. */
export const serves = (certificate: X509Certificate, use: Use): boolean => {
  const ids = certificate.keyUsage as string[] | undefined
  return (
    (ids === undefined || ids.includes(purposes[use]) || ids.includes(anything)) &&
    isUnderstood(certificate)
  )
}

export const hasSigned = (ca: X509Certificate, leaf: X509Certificate, use: Use): boolean =>
  ca.ca && serves(ca, use) && leaf.checkIssued(ca) && leaf.verify(ca.publicKey)
