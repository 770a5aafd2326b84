/** Reads PKCS #10 requests (RFC 2986): enough to check that one is there and whom it names. */

import { createPublicKey, type KeyObject, verify } from 'node:crypto'
import { pemBlocks } from '#net/pem.js'

interface Element {
  tag: number
  content: Buffer
  rest: Buffer
}

const truncated = 'asn1: syntax error: data truncated'
const missing = 'asn1: syntax error: sequence truncated'

/** One DER element; throws an Error in the words of Go's encoding/asn1. */
const readElement = (der: Buffer): Element => {
  if (der.length === 0) throw new Error(missing)
  const [tag, first] = der
  if (tag === undefined || first === undefined) throw new Error(truncated)
  let length = first
  let start = 2
  if (first >= 0x80) {
    const bytes = first & 0x7f
    if (bytes === 0 || bytes > 4 || der.length < 2 + bytes) throw new Error(truncated)
    length = der.readUIntBE(2, bytes)
    start += bytes
  }
  if (der.length < start + length) throw new Error(truncated)
  return { tag, content: der.subarray(start, start + length), rest: der.subarray(start + length) }
}

const sequenceTag = 0x30
const readSequence = (der: Buffer): Element => {
  const element = readElement(der)
  if (element.tag !== sequenceTag) throw new Error("asn1: structure error: tags don't match")
  return element
}

const elementsOf = (der: Buffer): Element[] => {
  const elements: Element[] = []
  for (let left = der; left.length > 0; ) {
    const element = readElement(left)
    elements.push(element)
    left = element.rest
  }
  return elements
}

const organizationOid = '55040a'
const commonNameOid = '550403'

/** Values of an attribute in a Name: SEQUENCE OF SET OF SEQUENCE { OID, string }. */
const attributesOf = (name: Buffer, oid: string): string[] =>
  elementsOf(name).flatMap((set) =>
    elementsOf(set.content).flatMap((pair) => {
      const [type, value] = elementsOf(pair.content)
      return type?.content.toString('hex') === oid ? [value?.content.toString('utf8') ?? ''] : []
    }),
  )

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

const publicKeyOf = (der: Buffer): KeyObject => {
  const { rest } = readSequence(der)
  return createPublicKey({
    key: der.subarray(0, der.length - rest.length),
    format: 'der',
    type: 'spki',
  })
}

/** `request`: what is signed, and behind it the algorithm and the signature; `subject`: what begins with the key. */
const checkSignature = (request: Buffer, algorithm: Buffer, subject: Buffer): void => {
  const signed = request.subarray(0, request.length - algorithm.length)
  const { content, rest } = readSequence(algorithm)
  const known = algorithms[readElement(content).content.toString('hex')]
  const key = publicKeyOf(subject)
  if (known === undefined || key.asymmetricKeyType !== known.keyType)
    throw new Error('x509: cannot verify signature: algorithm unimplemented')
  const unusedBits = 1
  if (!verify(known.hash, signed, key, readElement(rest).content.subarray(unusedBits)))
    throw new Error(known.wrong)
}

interface CertificateRequest {
  readonly commonName: string
  readonly organizations: readonly string[]
}

/** `base64` is the PEM text as the API carries it. */
export const parseCertificateRequest = (
  base64: string,
): CertificateRequest | { readonly error: string } => {
  const [block] = pemBlocks(Buffer.from(base64, 'base64').toString('latin1'))
  if (block?.label !== 'CERTIFICATE REQUEST')
    return { error: 'PEM block type must be CERTIFICATE REQUEST' }
  try {
    const request = readSequence(block.bytes)
    const info = readSequence(request.content)
    const version = readElement(info.content)
    const name = readSequence(version.rest)
    checkSignature(request.content, info.rest, name.rest)
    const [commonName = ''] = attributesOf(name.content, commonNameOid)
    return { commonName, organizations: attributesOf(name.content, organizationOid) }
  } catch (error) {
    return { error: (error as Error).message }
  }
}
