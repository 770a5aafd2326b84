/** Checks the authorities of a conversion webhook. Without any, those of the system are used. */
import { X509Certificate } from 'node:crypto'
import type { CustomResourceDefinition } from './definition.js'

const block = /-----BEGIN ([^\n]*?)-----\r?\n([\s\S]*?)-----END \1-----\s*/g

const isCertificate = (pem: string): boolean => {
  try {
    return Boolean(new X509Certificate(pem))
  } catch {
    return false
  }
}

/** Undefined when a certificate was found (client-go, transport.TLSConfigFor). */
const problemIn = (pem: string): string | undefined => {
  let rest = pem
  for (const [text, type, body] of pem.matchAll(block)) {
    rest = rest.replace(text, '')
    // Blocks with headers are skipped.
    if (type !== 'CERTIFICATE' || body!.includes(':')) continue
    if (isCertificate(text)) return undefined
    return 'failed to parse certificate: x509: malformed certificate'
  }
  return rest === ''
    ? 'no valid certificate authority data seen'
    : 'unable to parse bytes as PEM block'
}

export const caBundleProblem = ({ spec }: CustomResourceDefinition): string | undefined => {
  const bundle = spec.conversion?.webhook?.clientConfig?.caBundle
  if (!bundle) return undefined
  const problem = problemIn(Buffer.from(bundle, 'base64').toString('latin1'))
  return problem && `unable to load root certificates: ${problem}`
}
