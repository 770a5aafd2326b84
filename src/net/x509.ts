/**
 * Issues X.509 certificates with node:crypto. Reading them is Node's X509Certificate; writing what a CA, a server and a
 * client certificate need is this file. A library for it costs 20 packages and 220 ms of import on every first start and
 * in every test process; this costs 2 ms.
 */
import {
  createHash,
  generateKeyPairSync,
  type KeyObject,
  randomBytes,
  sign,
  X509Certificate,
} from 'node:crypto'
import { isIPv4 } from 'node:net'
import { der, type Element, readElements } from './der.js'

const { bits, boolean, extension, integer, octets, oid, sequence, set, text, time, tlv } = der

/** A distinguished name: CN is the user, each O a group. */
export interface Subject {
  commonName: string
  organizations?: readonly string[]
}

const nameOf = ({ commonName, organizations = [] }: Subject): Buffer =>
  sequence(
    ...organizations.map((group) => set(sequence(oid('2.5.4.10'), text(group)))),
    set(sequence(oid('2.5.4.3'), text(commonName))),
  )

const ipBytes = (address: string): Buffer => {
  if (isIPv4(address)) return Buffer.from(address.split('.').map(Number))
  const [head = '', tail] = address.split('::')
  const words = (part: string): string[] => (part === '' ? [] : part.split(':'))
  const front = words(head)
  const back = tail === undefined ? [] : words(tail)
  const middle = new Array<string>(8 - front.length - back.length).fill('0')
  return Buffer.from(
    [...front, ...middle, ...back].flatMap((word) => {
      const value = Number.parseInt(word, 16)
      return [value >>> 8, value & 0xff]
    }),
  )
}

/** No DNS name has a colon; node:net would first compile what an address of IPv6 looks like, which takes 5 ms. */
const isAddress = (name: string): boolean => isIPv4(name) || name.includes(':')

const alternativeNames = (names: readonly string[]): Buffer =>
  sequence(
    ...names.map((name) =>
      isAddress(name) ? tlv(0x87, ipBytes(name)) : tlv(0x82, Buffer.from(name)),
    ),
  )

const keyIdOid = '2.5.29.14'

type CertificateUse = 'authority' | 'server' | 'client'

const extensionsOf = (use: CertificateUse, names: readonly string[], keyId: Buffer): Buffer[] => {
  const isAuthority = use === 'authority'
  const list = [
    extension('2.5.29.19', isAuthority ? sequence(boolean(true)) : sequence(), true),
    // keyCertSign and digitalSignature, or digitalSignature alone.
    extension(
      '2.5.29.15',
      isAuthority ? bits(Buffer.from([0x84]), 2) : bits(Buffer.from([0x80]), 7),
      true,
    ),
    extension(keyIdOid, octets(keyId)),
  ]
  if (!isAuthority) {
    const purpose = use === 'server' ? '1.3.6.1.5.5.7.3.1' : '1.3.6.1.5.5.7.3.2'
    list.push(extension('2.5.29.37', sequence(oid(purpose))))
  }
  if (names.length > 0) list.push(extension('2.5.29.17', alternativeNames(names)))
  return list
}

const pem = (der: Buffer): string =>
  `-----BEGIN CERTIFICATE-----\n${der
    .toString('base64')
    .replace(/(.{64})(?=.)/g, '$1\n')}\n-----END CERTIFICATE-----\n`

/** Who signs certificates: the name and the id of its key, as its own certificate has them byte for byte, so that chains are found. */
interface Signer {
  readonly name: Buffer
  /** Missing where its certificate has none. */
  readonly keyId: Buffer | undefined
  readonly key: KeyObject
}

/** The extensions of a certificate: the elements of each, its id first and its value last. */
const extensionsIn = (fields: readonly Element[]): Element[][] => {
  // What may be missing has tags of its own, the extensions 0xa3.
  const [list] = readElements(fields.find(({ tag }) => tag === 0xa3)?.content ?? Buffer.alloc(0))
  return readElements(list?.content ?? Buffer.alloc(0)).map(({ content }) => readElements(content))
}

/** From the serial number on: a certificate of version 1 does not say its version, which stands before it. */
const fieldsOf = ({ raw }: X509Certificate): Element[] => {
  const fields = readElements(readElements(readElements(raw)[0]!.content)[0]!.content)
  return fields[0]!.tag === 0xa0 ? fields.slice(1) : fields
}

const hasId = (id: Element | undefined, ids: readonly Buffer[]): boolean =>
  ids.some((known) => id?.whole.equals(known))

/** Key usage, alternative names, basic constraints, extended key usage: Go and OpenSSL both understand these. */
const understood = ['2.5.29.15', '2.5.29.17', '2.5.29.19', '2.5.29.37'].map(oid)

/** OpenSSL takes other encodings than DER, too; Go refuses a certificate that has them anywhere. */
const isRead = (certificate: X509Certificate, ask: (fields: Element[]) => boolean): boolean => {
  try {
    return ask(fieldsOf(certificate))
  } catch {
    return false
  }
}

/** Whether nothing else is in the certificate without which it must not be understood. */
export const isUnderstood = (certificate: X509Certificate): boolean =>
  isRead(certificate, (fields) =>
    extensionsIn(fields)
      .filter(([, critical]) => critical?.tag === 0x01 && critical.content[0] !== 0)
      .every(([id]) => hasId(id, understood)),
  )

const nameConstraints = [oid('2.5.29.30')]

/** Whether an authority may sign for some names alone. */
export const boundsNames = (authority: X509Certificate): boolean =>
  !isRead(authority, (fields) => extensionsIn(fields).every(([id]) => !hasId(id, nameConstraints)))

/** RSA (PKCS #1) and ECDSA with SHA-256, SHA-384 and SHA-512; Ed25519. */
const soundSignatures = [
  ...['1.2.840.113549.1.1.11', '1.2.840.113549.1.1.12', '1.2.840.113549.1.1.13'],
  ...['1.2.840.10045.4.3.2', '1.2.840.10045.4.3.3', '1.2.840.10045.4.3.4'],
  '1.3.101.112',
].map(oid)

/** Whether nobody else can have made the signature: Go takes none with MD5 or SHA-1 (crypto/x509, checkSignature). */
export const isSoundlySigned = (certificate: X509Certificate): boolean =>
  isRead(certificate, (fields) => {
    // serial, algorithm; a signature is checked by what stands behind these fields, which says the same.
    const [algorithm] = readElements(fields[1]!.content)
    return hasId(algorithm, soundSignatures)
  })

export const signerOf = (certPem: string, key: KeyObject): Signer => {
  // serial, algorithm, issuer, validity, subject.
  const fields = fieldsOf(new X509Certificate(certPem))
  const keyId = extensionsIn(fields)
    .find(([id]) => id!.whole.equals(oid(keyIdOid)))
    ?.at(-1)
  return { name: fields[4]!.whole, keyId: keyId && readElements(keyId.content)[0]!.content, key }
}

/** By the type of the key: the algorithm as it is written, and the digest that Node signs with. */
const algorithmOf = ({ asymmetricKeyType: type }: KeyObject): [Buffer, 'sha256' | null] => {
  if (type === 'rsa') return [sequence(oid('1.2.840.113549.1.1.11'), tlv(0x05)), 'sha256']
  if (type === 'ed25519') return [sequence(oid('1.3.101.112')), null]
  return [sequence(oid('1.2.840.10045.4.3.2')), 'sha256']
}

interface CertificateFields {
  /** DER of the name and of the public key. */
  readonly subject: Buffer
  readonly publicKey: Buffer
  readonly notBeforeMs: number
  readonly notAfterMs: number
  /** Without the id of the signer's key. */
  readonly extensions: readonly Buffer[]
}

/** PEM of a certificate with these fields. */
export const signCertificate = (
  fields: CertificateFields,
  { name, keyId, key }: Signer,
): string => {
  const [algorithm, digest] = algorithmOf(key)
  const serial = randomBytes(16)
  serial[0] = (serial[0]! & 0x7f) | 0x40
  const ofSigner = keyId && extension('2.5.29.35', sequence(tlv(0x80, keyId)))
  const body = sequence(
    tlv(0xa0, integer(Buffer.from([2]))),
    integer(serial),
    algorithm,
    name,
    sequence(time(fields.notBeforeMs), time(fields.notAfterMs)),
    fields.subject,
    fields.publicKey,
    tlv(0xa3, sequence(...fields.extensions, ...(ofSigner ? [ofSigner] : []))),
  )
  return pem(sequence(body, algorithm, bits(sign(digest, body, key))))
}

export interface Issued {
  certPem: string
  keyPem: string
  privateKey: KeyObject
}

interface IssueOptions {
  use: CertificateUse
  subject: Subject
  /** DNS names and IP addresses that a server is known by. */
  names?: readonly string[]
  notBeforeMs: number
  notAfterMs: number
  /** Missing: the certificate signs itself. */
  issuer?: Pick<Issued, 'certPem' | 'privateKey'>
}

/** A new P-256 key and its certificate. */
export const issueCertificate = (options: IssueOptions): Issued => {
  const { use, names = [], notBeforeMs, notAfterMs, issuer } = options
  const { privateKey, publicKey: key } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const publicKey = key.export({ type: 'spki', format: 'der' })
  const subject = nameOf(options.subject)
  const keyId = createHash('sha1').update(publicKey).digest()
  const signer: Signer = issuer
    ? signerOf(issuer.certPem, issuer.privateKey)
    : { name: subject, keyId, key: privateKey }
  const extensions = extensionsOf(use, names, keyId)
  return {
    certPem: signCertificate({ subject, publicKey, notBeforeMs, notAfterMs, extensions }, signer),
    // As keyutil.MarshalPrivateKeyToPEM writes it: fabric8's client takes PKCS #8 for RSA.
    keyPem: privateKey.export({ type: 'sec1', format: 'pem' }) as string,
    privateKey,
  }
}
