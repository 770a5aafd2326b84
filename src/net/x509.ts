/**
 * Issues X.509 certificates with node:crypto. Reading them is Node's X509Certificate; writing the few DER forms that a
 * CA, a server and a client certificate need is this file. A library for it costs 20 packages and 220 ms of import on
 * every first start and in every test process; this costs 2 ms.
 */
import { createHash, generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto'
import { isIPv4 } from 'node:net'

const tlv = (tag: number, ...parts: readonly Uint8Array[]): Buffer => {
  const content = Buffer.concat(parts)
  const length: number[] = []
  if (content.length < 0x80) length.push(content.length)
  else {
    for (let rest = content.length; rest > 0; rest >>>= 8) length.unshift(rest & 0xff)
    length.unshift(0x80 | length.length)
  }
  return Buffer.concat([Buffer.from([tag, ...length]), content])
}
const sequence = (...parts: readonly Uint8Array[]): Buffer => tlv(0x30, ...parts)
const set = (...parts: readonly Uint8Array[]): Buffer => tlv(0x31, ...parts)
const integer = (bytes: Uint8Array): Buffer => tlv(0x02, bytes)
const octets = (...parts: readonly Uint8Array[]): Buffer => tlv(0x04, ...parts)
const bits = (bytes: Uint8Array, unused = 0): Buffer => tlv(0x03, Buffer.from([unused]), bytes)
const boolean = (value: boolean): Buffer => tlv(0x01, Buffer.from([value ? 0xff : 0]))
const text = (value: string): Buffer => tlv(0x0c, Buffer.from(value))

const oid = (dotted: string): Buffer => {
  const [first = 0, second = 0, ...rest] = dotted.split('.').map(Number)
  const bytes = [first * 40 + second]
  for (const part of rest) {
    const groups = [part & 0x7f]
    for (let left = part >>> 7; left > 0; left >>>= 7) groups.unshift(0x80 | (left & 0x7f))
    bytes.push(...groups)
  }
  return tlv(0x06, Buffer.from(bytes))
}

/** Two digits of the year until 2049, four from then on: RFC 5280, 4.1.2.5. */
const time = (epochMs: number): Buffer => {
  const digits = new Date(epochMs).toISOString().replace(/[-:T]|\.\d+/g, '')
  return Number(digits.slice(0, 4)) < 2050
    ? tlv(0x17, Buffer.from(digits.slice(2)))
    : tlv(0x18, Buffer.from(digits))
}

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

const extension = (id: string, value: Buffer, critical = false): Buffer =>
  critical ? sequence(oid(id), boolean(true), octets(value)) : sequence(oid(id), octets(value))

const keyIdOf = (publicKeyDer: Buffer): Buffer => createHash('sha1').update(publicKeyDer).digest()

type CertificateUse = 'authority' | 'server' | 'client'

const extensionsOf = (
  use: CertificateUse,
  names: readonly string[],
  keyIds: { own: Buffer; issuer: Buffer },
): Buffer => {
  const isAuthority = use === 'authority'
  const list = [
    extension('2.5.29.19', isAuthority ? sequence(boolean(true)) : sequence(), true),
    // keyCertSign and digitalSignature, or digitalSignature alone.
    extension(
      '2.5.29.15',
      isAuthority ? bits(Buffer.from([0x84]), 2) : bits(Buffer.from([0x80]), 7),
      true,
    ),
    extension('2.5.29.14', octets(keyIds.own)),
    extension('2.5.29.35', sequence(tlv(0x80, keyIds.issuer))),
  ]
  if (!isAuthority) {
    const purpose = use === 'server' ? '1.3.6.1.5.5.7.3.1' : '1.3.6.1.5.5.7.3.2'
    list.push(extension('2.5.29.37', sequence(oid(purpose))))
  }
  if (names.length > 0) list.push(extension('2.5.29.17', alternativeNames(names)))
  return tlv(0xa3, sequence(...list))
}

const pem = (der: Buffer): string =>
  `-----BEGIN CERTIFICATE-----\n${der
    .toString('base64')
    .replace(/(.{64})(?=.)/g, '$1\n')}\n-----END CERTIFICATE-----\n`

export interface Issued {
  certPem: string
  keyPem: string
  privateKey: KeyObject
  publicKey: KeyObject
  subject: Subject
}

interface IssueOptions {
  use: CertificateUse
  subject: Subject
  /** DNS names and IP addresses that a server is known by. */
  names?: readonly string[]
  notBeforeMs: number
  notAfterMs: number
  /** Missing: the certificate signs itself. */
  issuer?: Pick<Issued, 'privateKey' | 'publicKey' | 'subject'>
}

const derOf = (key: KeyObject): Buffer => key.export({ type: 'spki', format: 'der' })

/** A new P-256 key and its certificate. */
export const issueCertificate = (options: IssueOptions): Issued => {
  const { use, subject, names = [], notBeforeMs, notAfterMs } = options
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const issuer = options.issuer ?? { privateKey, publicKey, subject }
  const algorithm = sequence(oid('1.2.840.10045.4.3.2'))
  const serial = randomBytes(16)
  serial[0] = (serial[0]! & 0x7f) | 0x40
  const body = sequence(
    tlv(0xa0, integer(Buffer.from([2]))),
    integer(serial),
    algorithm,
    nameOf(issuer.subject),
    sequence(time(notBeforeMs), time(notAfterMs)),
    nameOf(subject),
    derOf(publicKey),
    extensionsOf(use, names, {
      own: keyIdOf(derOf(publicKey)),
      issuer: keyIdOf(derOf(issuer.publicKey)),
    }),
  )
  const certificate = sequence(body, algorithm, bits(sign('sha256', body, issuer.privateKey)))
  return {
    certPem: pem(certificate),
    // As keyutil.MarshalPrivateKeyToPEM writes it: fabric8's client takes PKCS #8 for RSA.
    keyPem: privateKey.export({ type: 'sec1', format: 'pem' }) as string,
    privateKey,
    publicKey,
    subject,
  }
}

/** The encoders of DER, for code that puts together certificates of other kinds. */
export const der = { tlv, sequence, integer, octets, bits, boolean, oid, time, extension, pem }
