/**
 * Trusts every given certificate (PEM) as Go's crypto/x509 does: also an intermediate authority, and a server's own
 * certificate. (Servers of Node 20 cannot do so for client certificates.)
 */
export const trusted = (ca: string): { ca: string; allowPartialTrustChain: true } => ({
  ca,
  allowPartialTrustChain: true,
})
