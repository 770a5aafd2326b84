import type { PeerCertificate } from 'node:tls'

const namesIn = ({ subject }: PeerCertificate, field: 'CN' | 'O'): string[] =>
  // Node makes no list of a single one, and a certificate may have no subject at all.
  [(subject as Partial<Record<'CN' | 'O', string | string[]>> | undefined)?.[field] ?? []].flat()

/** Empty where there is none. Of several the last counts, as in Go's crypto/x509. */
export const commonNameOf = (certificate: PeerCertificate): string =>
  namesIn(certificate, 'CN').at(-1) ?? ''

export const organizationsOf = (certificate: PeerCertificate): string[] => namesIn(certificate, 'O')
