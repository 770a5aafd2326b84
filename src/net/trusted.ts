import { certificateIsFor } from './server-name.js'

interface Trust {
  readonly checkServerIdentity: typeof certificateIsFor
  readonly ca?: string
  readonly allowPartialTrustChain?: true
}

/**
 * TLS options that trust every given certificate (PEM) as Go's crypto/x509 does: also an intermediate authority, and a
 * server's own certificate. (Servers of Node 20 cannot do so for client certificates.) Without one, Node's own
 * authorities are trusted.
 */
export const trusted = (ca = ''): Trust => ({
  checkServerIdentity: certificateIsFor,
  ...(ca === '' ? {} : { ca, allowPartialTrustChain: true }),
})
