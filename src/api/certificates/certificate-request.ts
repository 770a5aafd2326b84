/** Reads certificate requests (PKCS #10, RFC 2986): whom they name, what is signed of them, and that their key signed them. */

import { createPublicKey, type KeyObject, verify } from 'node:crypto'
import { type Element, readElement, readElements, structureError, syntaxError } from '#net/der.js'
import { pemBlocks } from '#net/pem.js'
import { readAlternativeNames } from './alternative-names.js'
import { checkInteger, type DistinguishedName, readName } from './distinguished-name.js'

export interface CertificateRequest {
  readonly subject: DistinguishedName
  /** DER. */
  readonly publicKey: Buffer
  readonly alternativeNames: ReturnType<typeof readAlternativeNames>
}

const extensionRequestOid = '2a864886f70d01090e'
const alternativeNamesOid = '551d11'

const tags = {
  boolean: 0x01,
  integer: 0x02,
  octets: 0x04,
  oid: 0x06,
  sequence: 0x30,
  set: 0x31,
  attributes: 0xa0,
} as const

/** Go's text for an element of another kind than the one that it reads into a field of the type. */
const mismatch = ({ tag, content }: Element, wanted: number, type: string): Error => {
  const found = `{class:${tag >> 6} tag:${tag & 0x1f} length:${content.length} isCompound:${(tag & 0x20) !== 0}}`
  const parameters =
    'optional:false explicit:false application:false private:false defaultValue:<nil> tag:<nil> stringType:0 timeType:0 set:false omitEmpty:false'
  return structureError(
    `tags don't match (${wanted & 0x1f} vs ${found}) {${parameters}} ${type} @2`,
  )
}

const read = (bytes: Buffer, wanted: number, type: string): Element => {
  const element = readElement(bytes)
  if (element.tag !== wanted) throw mismatch(element, wanted, type)
  return element
}
const readSequence = (bytes: Buffer, type = ''): Element => read(bytes, tags.sequence, type)

const hex = (element: Element | undefined): string => element?.content.toString('hex') ?? ''

interface Extension {
  readonly id: string
  readonly value: Buffer
}

const extensionOf = ({ tag, content }: Element): Extension => {
  if (tag !== tags.sequence) throw structureError('sequence tag mismatch')
  const id = read(content, tags.oid, 'ObjectIdentifier')
  const second = readElement(id.rest)
  const behind = second.tag === tags.boolean ? second.rest : id.rest
  return { id: hex(id), value: read(behind, tags.octets, '').content }
}

/** The values of an attribute of that kind; none for what does not read as one, as in Go. */
const requestedIn = (attribute: Buffer): Element[] => {
  try {
    const { content } = readSequence(attribute)
    const type = read(content, tags.oid, '')
    const values = read(type.rest, tags.set, '')
    return hex(type) === extensionRequestOid ? readElements(values.content) : []
  } catch {
    return []
  }
}

const extensionsIn = (attributes: readonly Element[]): Extension[] => {
  const found = attributes.flatMap(({ whole }) => {
    const [first] = requestedIn(whole)
    return first === undefined ? [] : readElements(readSequence(first.whole).content)
  })
  const extensions = found.map(extensionOf)
  if (new Set(extensions.map(({ id }) => id)).size !== extensions.length)
    throw new Error('x509: certificate request contains duplicate requested extensions')
  return extensions
}

const keyKinds: Readonly<Record<string, { name: string; type: string }>> = {
  rsa: { name: 'RSA', type: '*rsa.PublicKey' },
  ec: { name: 'ECDSA', type: '*ecdsa.PublicKey' },
  ed25519: { name: 'Ed25519', type: 'ed25519.PublicKey' },
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

const md5WithRsa = '2a864886f70d010104'

/** Of NIST: P-224, P-256, P-384, P-521. */
const knownCurves = ['2b81040021', '2a8648ce3d030107', '2b81040022', '2b81040023']
const curveOid = '2a8648ce3d0201'

const readKey = (publicKey: Buffer): KeyObject => {
  const { content } = readSequence(publicKey)
  const [type, curve] = readElements(readSequence(content, 'AlgorithmIdentifier').content)
  if (hex(type) === curveOid && !knownCurves.includes(hex(curve)))
    throw new Error('x509: unsupported elliptic curve')
  return createPublicKey({ key: publicKey, format: 'der', type: 'spki' })
}

/** `signed`: what the signature is of; `behind`: the algorithm and the signature. */
const checkSignature = (signed: Buffer, behind: Buffer, key: KeyObject): void => {
  const { content, rest } = readSequence(behind)
  const id = hex(readElement(content))
  const known = algorithms[id]
  const cannot = 'x509: cannot verify signature:'
  if (id === md5WithRsa) throw new Error(`${cannot} insecure algorithm MD5-RSA`)
  const found = keyKinds[key.asymmetricKeyType!]
  if (known === undefined || found === undefined)
    throw new Error(`${cannot} algorithm unimplemented`)
  const wanted = keyKinds[known.keyType]!
  if (found !== wanted)
    throw new Error(
      `x509: signature algorithm specifies an ${wanted.name} public key, but have public key of type ${found.type}`,
    )
  const unusedBits = 1
  if (!verify(known.hash, signed, key, readElement(rest).content.subarray(unusedBits)))
    throw new Error(known.wrong)
}

const readRequest = (bytes: Buffer): CertificateRequest => {
  const { content, rest } = readSequence(bytes, 'certificateRequest')
  if (rest.length > 0) throw syntaxError('trailing data')
  const info = readSequence(content, 'tbsCertificateRequest')
  const version = read(info.content, tags.integer, 'int')
  checkInteger(version.content)
  const name = readElement(version.rest)
  const { whole: publicKey, rest: attributes } = readSequence(name.rest, 'publicKeyInfo')
  const requested = readElements(read(attributes, tags.attributes, '').content)
  const key = readKey(publicKey)
  if (name.tag !== tags.sequence) throw mismatch(name, tags.sequence, 'RDNSequence')
  const subject = readName(name.content)
  const extensions = extensionsIn(requested)
  const alternative = extensions.find(({ id }) => id === alternativeNamesOid)
  const alternativeNames = alternative === undefined ? [] : readAlternativeNames(alternative.value)
  checkSignature(info.whole, info.rest, key)
  return { subject, publicKey, alternativeNames }
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
