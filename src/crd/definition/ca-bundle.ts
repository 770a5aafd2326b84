/** Checks the authorities of a conversion webhook. Without any, those of the system are used. */
import { X509Certificate } from 'node:crypto'
import { certificateBlocks, pemBlocks } from '#net/pem.js'
import type { CustomResourceDefinition } from './definition.js'

const isCertificate = (der: Buffer): boolean => {
  try {
    return Boolean(new X509Certificate(der))
  } catch {
    return false
  }
}

/** Undefined when a certificate was found, wherever it stands (client-go, transport.TLSConfigFor). */
const problemIn = (pem: string): string | undefined => {
  const blocks = pemBlocks(pem)
  const certificates = certificateBlocks(pem)
  if (certificates.some(({ bytes }) => isCertificate(bytes))) return undefined
  if (certificates.length > 0) return 'failed to parse certificate: x509: malformed certificate'
  return blocks.at(-1)?.next === pem.length
    ? 'no valid certificate authority data seen'
    : 'unable to parse bytes as PEM block'
}

export const caBundleProblem = ({ spec }: CustomResourceDefinition): string | undefined => {
  const bundle = spec.conversion?.webhook?.clientConfig?.caBundle
  if (!bundle) return undefined
  const problem = problemIn(Buffer.from(bundle, 'base64').toString('latin1'))
  return problem && `unable to load root certificates: ${problem}`
}
