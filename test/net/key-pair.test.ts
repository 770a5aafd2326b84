import { generateKeyPairSync } from 'node:crypto'
import t from 'tap'
import { keyPairProblem } from '#net/key-pair.js'
import { issueCertificate } from '#net/x509.js'
import { secretWarnings } from '#validation/config-data.js'

const issue = () =>
  issueCertificate({
    use: 'server',
    subject: { commonName: 'web' },
    notBeforeMs: Date.UTC(2020, 0),
    notAfterMs: Date.UTC(2030, 0),
  })
const { certPem, keyPem, privateKey } = issue()
const pkcs8 = privateKey.export({ type: 'pkcs8', format: 'pem' }) as string
const rsa = generateKeyPairSync('rsa', {
  modulusLength: 2048,
  publicKeyEncoding: { type: 'spki', format: 'pem' },
  privateKeyEncoding: { type: 'pkcs1', format: 'pem' },
})
const pem = (label: string) => `-----BEGIN ${label}-----\nMAA=\n-----END ${label}-----\n`

// The texts are those of Go 1.26's tls.X509KeyPair for such inputs.
t.test('what is wrong with a certificate and a key is told as by Go', async (t) => {
  const mine = [certPem, keyPem] as const
  const cases: [certificate: string, key: string, problem: string | undefined][] = [
    [...mine, undefined],
    [certPem, pkcs8, undefined],
    [`${keyPem}${certPem}${issue().certPem}`, `${certPem}${keyPem}`, undefined],
    ['', keyPem, 'tls: failed to find any PEM data in certificate input'],
    [
      keyPem,
      certPem,
      'tls: failed to find certificate PEM data in certificate input, but did find a private key; PEM inputs may have been switched',
    ],
    [
      pem('A') + pem('B'),
      keyPem,
      'tls: failed to find "CERTIFICATE" PEM block in certificate input after skipping PEM blocks of the following types: [A B]',
    ],
    [certPem, 'x', 'tls: failed to find any PEM data in key input'],
    [certPem, certPem, 'tls: found a certificate rather than a key in the PEM for the private key'],
    [
      certPem,
      rsa.publicKey,
      'tls: failed to find PEM block with type ending in "PRIVATE KEY" in key input after skipping PEM blocks of the following types: [PUBLIC KEY]',
    ],
    [certPem, pem('EC PRIVATE KEY'), 'tls: failed to parse private key'],
    [certPem, rsa.privateKey, 'tls: private key type does not match public key type'],
    [certPem, issue().keyPem, 'tls: private key does not match public key'],
  ]
  for (const [certificate, key, problem] of cases)
    t.equal(keyPairProblem(certificate, key), problem, problem ?? 'a pair')
})

t.test('who stores a TLS secret whose key is another is warned', async (t) => {
  const base64 = (text: string) => Buffer.from(text).toString('base64')
  const secret = (key: string) => ({
    kind: 'Secret',
    apiVersion: 'v1',
    metadata: {},
    type: 'kubernetes.io/tls',
    data: { 'tls.crt': base64(certPem), 'tls.key': base64(key) },
  })
  t.same(secretWarnings(secret(keyPem)), [])
  t.same(secretWarnings(secret(issue().keyPem)), ['tls: private key does not match public key'])
})
