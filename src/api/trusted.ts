/**
 * Which servers a client trusts, as Go's crypto/x509 does: whatever is given as an authority (PEM), also one that another one
 * signed, and a certificate that signs nothing but is the server's own. Servers of Node 20 cannot do so for their clients.
 */
export const trusted = (ca: string): { ca: string; allowPartialTrustChain: true } => ({
  ca,
  allowPartialTrustChain: true,
})
