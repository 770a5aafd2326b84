/** Reads a certificate request (PKCS #10, RFC 2986) as far as a signer has to know it, and checks its signature. */
import { createPublicKey, verify } from 'node:crypto'
import { type Element, readElement, readElements } from '#net/der.js'

export interface CertificateRequest {
  /** DER of the name, of the public key, and of subjectAltName when there is one. */
  subject: Buffer
  publicKey: Buffer
  alternativeNames: Buffer | undefined
  commonName: string
  organizations: string[]
}

const commonNameOid = '550403'
const organizationOid = '55040a'
const extensionRequestOid = '2a864886f70d01090e'
const alternativeNamesOid = '551d11'

const hex = (element: Element | undefined): string => element?.content.toString('hex') ?? ''

const nameParts = (subject: Buffer, wanted: string): string[] =>
  readElements(readElement(subject).content)
    .flatMap((set) => readElements(set.content))
    .map((pair) => readElements(pair.content))
    .filter(([type]) => hex(type) === wanted)
    .map(([, value]) => value?.content.toString('utf8') ?? '')

const findAlternativeNames = (attributes: Buffer): Buffer | undefined => {
  for (const attribute of readElements(attributes)) {
    const [type, values] = readElements(attribute.content)
    if (hex(type) !== extensionRequestOid || values === undefined) continue
    const extensions = readElements(readElement(values.content).content)
    for (const extension of extensions) {
      const parts = readElements(extension.content)
      if (hex(parts[0]) === alternativeNamesOid) return Buffer.from(parts.at(-1)!.content)
    }
  }
  return undefined
}

const digests: Record<string, string> = {
  '2a864886f70d01010b': 'sha256',
  '2a864886f70d01010c': 'sha384',
  '2a864886f70d01010d': 'sha512',
  '2a8648ce3d040302': 'sha256',
  '2a8648ce3d040303': 'sha384',
  '2a8648ce3d040304': 'sha512',
}
const ed25519Oid = '2b6570'

/** Throws for what is no request, or one that its key did not sign. */
export const parseCertificateRequest = (pem: string): CertificateRequest => {
  const body = /-----BEGIN CERTIFICATE REQUEST-----([^-]*)-----END/.exec(pem)?.[1]
  if (body === undefined) throw new Error('PEM block type must be CERTIFICATE REQUEST')
  const [info, algorithm, signature] = readElements(
    readElement(Buffer.from(body, 'base64')).content,
  )
  const [, subject, publicKey, attributes] = readElements(info?.content ?? Buffer.alloc(0))
  if (!subject || !publicKey || !algorithm || !signature) throw new Error('asn1: data truncated')
  const id = hex(readElements(algorithm.content)[0])
  const digest = id === ed25519Oid ? null : digests[id]
  if (digest === undefined)
    throw new Error('x509: cannot verify signature: algorithm unimplemented')
  const key = createPublicKey({ key: publicKey.whole, format: 'der', type: 'spki' })
  // The first byte of a bit string counts its unused bits.
  if (!verify(digest, info!.whole, key, signature.content.subarray(1)))
    throw new Error('x509: the request is not signed by its key')
  return {
    subject: Buffer.from(subject.whole),
    publicKey: Buffer.from(publicKey.whole),
    alternativeNames:
      attributes === undefined ? undefined : findAlternativeNames(attributes.content),
    commonName: nameParts(subject.whole, commonNameOid)[0] ?? '',
    organizations: nameParts(subject.whole, organizationOid),
  }
}
