/** The certificate of a component's port where nobody gave one: self-made at each start, as upstream's by default. */
import type { Clock } from '#api/clock.js'
import { issueCertificate } from '#net/x509.js'

const yearMs = 365 * 86_400_000

export const ownCertificate = (commonName: string, address: string, clock: Clock) =>
  issueCertificate({
    use: 'server',
    subject: { commonName },
    names: [address, 'localhost'],
    notBeforeMs: clock.now() - yearMs,
    notAfterMs: clock.now() + 10 * yearMs,
  })
