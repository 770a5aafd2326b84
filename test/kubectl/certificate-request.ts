/** A certificate signing request for the user jane of the group devs (made with openssl; it does not expire). */
const request = `-----BEGIN CERTIFICATE REQUEST-----
MIHYMIGAAgEAMB4xDTALBgNVBAoMBGRldnMxDTALBgNVBAMMBGphbmUwWTATBgcq
hkjOPQIBBggqhkjOPQMBBwNCAARkwW4u37cKFLfEfqFXWJwhE0TNGjQOQLWwDppA
jgtC1mdJHcyw9g2yTRdP/a7ff/mNI7csagxrF1Cjn+GFu2IdoAAwCgYIKoZIzj0E
AwIDRwAwRAIgLg3uD846AwOQylmWommxBw9nvH3qqVpHGBOtIZar+cICIDavpxN8
98MdeXSbL8ujjoo4wFE0+FYN/+bLrsV+EzqN
-----END CERTIFICATE REQUEST-----
`

export const certificateRequest = (name: string) => ({
  apiVersion: 'certificates.k8s.io/v1',
  kind: 'CertificateSigningRequest',
  metadata: { name },
  spec: {
    request: Buffer.from(request).toString('base64'),
    signerName: 'kubernetes.io/kube-apiserver-client',
    usages: ['client auth'],
  },
})
