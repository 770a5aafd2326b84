import type { PeerCertificate } from 'node:tls'

/** The uid of a user; upstream's X509UID. */
const uidName = '1.3.6.1.4.1.57683.2'
type Field = 'CN' | 'O' | typeof uidName

const namesIn = ({ subject }: PeerCertificate, field: Field): string[] =>
  // Node makes no list of a single one, and a certificate may have no subject at all.
  [(subject as Partial<Record<Field, string | string[]>> | undefined)?.[field] ?? []].flat()

/** Empty where there is none. Of several the last counts, as in Go's crypto/x509. */
export const commonNameOf = (certificate: PeerCertificate): string =>
  namesIn(certificate, 'CN').at(-1) ?? ''

export const organizationsOf = (certificate: PeerCertificate): string[] => namesIn(certificate, 'O')

export const uidsOf = (certificate: PeerCertificate): string[] => namesIn(certificate, uidName)
