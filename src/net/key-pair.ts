/** Whether a certificate and a key belong together, in the words of Go's crypto/tls (X509KeyPair). */
import { createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto'
import { pemBlocks } from './pem.js'

const isKey = (label: string): boolean => label === 'PRIVATE KEY' || label.endsWith(' PRIVATE KEY')

const noCertificate = (found: readonly string[]): string => {
  if (found.length === 0) return 'tls: failed to find any PEM data in certificate input'
  return found.length === 1 && found[0]!.endsWith('PRIVATE KEY')
    ? 'tls: failed to find certificate PEM data in certificate input, but did find a private key; PEM inputs may have been switched'
    : `tls: failed to find "CERTIFICATE" PEM block in certificate input after skipping PEM blocks of the following types: [${found.join(' ')}]`
}

const noKey = (found: readonly string[]): string => {
  if (found.length === 0) return 'tls: failed to find any PEM data in key input'
  return found.length === 1 && found[0] === 'CERTIFICATE'
    ? 'tls: found a certificate rather than a key in the PEM for the private key'
    : `tls: failed to find PEM block with type ending in "PRIVATE KEY" in key input after skipping PEM blocks of the following types: [${found.join(' ')}]`
}

const tried = <T>(read: () => T): T | undefined => {
  try {
    return read()
  } catch {
    return undefined
  }
}

/** Its label does not count. */
const readKey = (der: Buffer): KeyObject | undefined => {
  for (const type of ['pkcs1', 'pkcs8', 'sec1'] as const) {
    const key = tried(() => createPrivateKey({ key: der, format: 'der', type }))
    if (key !== undefined) return key
  }
  return undefined
}

/** Undefined where nothing is wrong with the two texts. */
export const keyPairProblem = (certPem: string, keyPem: string): string | undefined => {
  const certBlocks = pemBlocks(certPem)
  const first = certBlocks.find(({ label }) => label === 'CERTIFICATE')
  if (first === undefined) return noCertificate(certBlocks.map(({ label }) => label))
  const keyBlocks = pemBlocks(keyPem)
  const block = keyBlocks.find(({ label }) => isKey(label))
  if (block === undefined) return noKey(keyBlocks.map(({ label }) => label))
  const certificate = tried(() => new X509Certificate(first.bytes))
  if (certificate === undefined) return 'x509: malformed certificate'
  const key = readKey(block.bytes)
  if (key === undefined) return 'tls: failed to parse private key'
  const type = tried(() => certificate.publicKey.asymmetricKeyType)
  if (type === undefined) return 'tls: unknown public key algorithm'
  if (key.asymmetricKeyType !== type) return 'tls: private key type does not match public key type'
  return certificate.checkPrivateKey(key) ? undefined : 'tls: private key does not match public key'
}
