/** Reads certificate requests (PKCS #10, RFC 2986): whom they name, what is signed of them, and that their key signed them. */

import { createPublicKey, verify } from 'node:crypto'
import { type Element, readElement, readElements } from './der.js'
import { pemBlocks } from './pem.js'

export interface CertificateRequest {
  /** DER of the name, of the public key, and of subjectAltName when there is one. */
  readonly subject: Buffer
  readonly publicKey: Buffer
  readonly alternativeNames: Buffer | undefined
  readonly commonName: string
  readonly organizations: readonly string[]
}

const commonNameOid = '550403'
const organizationOid = '55040a'
const extensionRequestOid = '2a864886f70d01090e'
const alternativeNamesOid = '551d11'

const sequenceTag = 0x30
const readSequence = (der: Buffer): Element => {
  const element = readElement(der)
  if (element.tag !== sequenceTag) throw new Error("asn1: structure error: tags don't match")
  return element
}

const hex = (element: Element | undefined): string => element?.content.toString('hex') ?? ''

/** Values of an attribute in a Name: SEQUENCE OF SET OF SEQUENCE { OID, string }. */
const attributesOf = (name: Buffer, oid: string): string[] =>
  readElements(name)
    .flatMap((set) => readElements(set.content))
    .map((pair) => readElements(pair.content))
    .filter(([type]) => hex(type) === oid)
    .map(([, value]) => value?.content.toString('utf8') ?? '')

const findAlternativeNames = (attributes: Buffer): Buffer | undefined => {
  for (const attribute of readElements(attributes)) {
    const [type, values] = readElements(attribute.content)
    if (hex(type) !== extensionRequestOid || values === undefined) continue
    for (const extension of readElements(readElement(values.content).content)) {
      const parts = readElements(extension.content)
      if (hex(parts[0]) === alternativeNamesOid) return parts.at(-1)!.content
    }
  }
  return undefined
}

const algorithms: Readonly<
  Record<string, { keyType: string; hash: string | null; wrong: string }>
> = Object.fromEntries(
  [
    ...[
      ['05', 'sha1'],
      ['0b', 'sha256'],
      ['0c', 'sha384'],
      ['0d', 'sha512'],
    ].map(([oid, hash]) => [
      `2a864886f70d0101${oid}`,
      'rsa',
      hash,
      'crypto/rsa: verification error',
    ]),
    ...[
      ['01', 'sha1'],
      ['0302', 'sha256'],
      ['0303', 'sha384'],
      ['0304', 'sha512'],
    ].map(([oid, hash]) => [`2a8648ce3d04${oid}`, 'ec', hash, 'x509: ECDSA verification failure']),
    ['2b6570', 'ed25519', null, 'x509: Ed25519 verification failure'],
  ].map(([oid, keyType, hash, wrong]) => [oid, { keyType, hash, wrong }]),
)

/** `signed`: what the signature is of; `behind`: the algorithm and the signature. */
const checkSignature = (signed: Buffer, behind: Buffer, publicKey: Buffer): void => {
  const { content, rest } = readSequence(behind)
  const known = algorithms[hex(readElement(content))]
  const key = createPublicKey({ key: publicKey, format: 'der', type: 'spki' })
  if (known === undefined || key.asymmetricKeyType !== known.keyType)
    throw new Error('x509: cannot verify signature: algorithm unimplemented')
  const unusedBits = 1
  if (!verify(known.hash, signed, key, readElement(rest).content.subarray(unusedBits)))
    throw new Error(known.wrong)
}

const readRequest = (der: Buffer): CertificateRequest => {
  const info = readSequence(readSequence(der).content)
  const version = readElement(info.content)
  const name = readSequence(version.rest)
  const { whole: publicKey, rest: attributes } = readSequence(name.rest)
  checkSignature(info.whole, info.rest, publicKey)
  return {
    subject: name.whole,
    publicKey,
    alternativeNames:
      attributes.length === 0 ? undefined : findAlternativeNames(readElement(attributes).content),
    // Of several the last counts, as in Go's crypto/x509.
    commonName: attributesOf(name.content, commonNameOid).at(-1) ?? '',
    organizations: attributesOf(name.content, organizationOid),
  }
}

/** `base64` is the PEM text as the API carries it; what is wrong with it is told in Go's words. */
export const parseCertificateRequest = (
  base64: string,
): CertificateRequest | { readonly error: string } => {
  const [block] = pemBlocks(Buffer.from(base64, 'base64').toString('latin1'))
  if (block?.label !== 'CERTIFICATE REQUEST')
    return { error: 'PEM block type must be CERTIFICATE REQUEST' }
  try {
    return readRequest(block.bytes)
  } catch (error) {
    return { error: (error as Error).message }
  }
}
