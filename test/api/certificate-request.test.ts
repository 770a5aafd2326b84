/** Requests for certificates with what clients may put into them; the answers are kube-apiserver v1.36.3's. */
import { createPublicKey, generateKeyPairSync, sign, X509Certificate } from 'node:crypto'
import t from 'tap'
import { parseCertificateRequest } from '#api/certificates/certificate-request.js'
import { type SigningRequest, signRequest } from '#controllers/certificates/sign.js'
import { der } from '#net/der.js'
import { boundsNames, isSoundlySigned, issueCertificate, isUnderstood } from '#net/x509.js'
import { readRecorded } from '../recorded.js'

interface Recorded {
  name: string
  label?: string
  der: string
  /** Empty: it is refused in words that Go alone has. */
  error?: string
  isMaster?: true
}

const pemOf = (body: string, label = 'CERTIFICATE REQUEST'): string =>
  Buffer.from(`-----BEGIN ${label}-----\n${body}\n-----END ${label}-----\n`).toString('base64')

t.test('a request is read, or refused, as Go does', async (t) => {
  for (const { name, label, der, error, isMaster } of readRecorded<Recorded[]>('api/requests')) {
    const asked = parseCertificateRequest(pemOf(der, label))
    if ('error' in asked) {
      t.ok(error !== undefined, `${name}: ${asked.error}`)
      if (error !== '') t.equal(asked.error, error, name)
      continue
    }
    t.equal(error, undefined, name)
    t.equal(asked.subject.organizations.includes('system:masters'), isMaster ?? false, name)
  }
})

const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
const algorithm = der.sequence(der.oid('1.2.840.10045.4.3.2'))
const spki = publicKey.export({ type: 'spki', format: 'der' })
const attribute = (oid: string, tag: number, value: Buffer) =>
  der.set(der.sequence(der.oid(oid), der.tlv(tag, value)))
const [commonName, organization, unit] = ['2.5.4.3', '2.5.4.10', '2.5.4.11']
const utf8 = 0x0c

const signed = (body: Buffer): Buffer =>
  der.sequence(body, algorithm, der.bits(sign('sha256', body, privateKey)))

const certificateFor = (subject: Buffer, attributes: Buffer[] = []): X509Certificate => {
  const life = { notBeforeMs: 0, notAfterMs: Date.UTC(2040, 0) }
  const { certPem, keyPem } = issueCertificate({
    ...{ ...life, use: 'authority', subject: { commonName: 'ca' } },
  })
  const info = der.sequence(
    ...[der.integer(Buffer.from([0])), subject, spki, der.tlv(0xa0, ...attributes)],
  )
  const request = pemOf(signed(info).toString('base64'))
  const asked = { spec: { request, signerName: 'x', usages: [] } } as unknown as SigningRequest
  const ca = { cert: certPem, key: keyPem, lifetimeMaxMs: 86_400_000 }
  const issued = signRequest(asked, ca, Date.UTC(2030, 0))
  return new X509Certificate(Buffer.from(issued, 'base64'))
}

t.test('what is signed is what was read, as Go writes it, and nothing else', async (t) => {
  const universal = Buffer.from('system:node:other', 'utf16le')
  const wide = Buffer.concat(
    [...universal].map((byte, i) => (i % 2 ? Buffer.alloc(0) : Buffer.from([0, 0, 0, byte]))),
  )
  const bmp = Buffer.from('teams', 'utf16le').swap16()
  const subject = der.sequence(
    attribute(commonName, utf8, Buffer.from('first')),
    attribute(organization, 0x1e, bmp),
    attribute(unit, 0x13, Buffer.from('u')),
    attribute('0.9.2342.19200300.100.1.1', utf8, Buffer.from('unknown')),
    attribute(organization, utf8, Buffer.from('a*')),
    attribute(commonName, utf8, Buffer.from('last')),
    attribute(commonName, 0x1c, wide),
  )
  const otherName = der.tlv(0xa0, der.oid('1.2.3'), der.tlv(0xa0, der.text('x')))
  const names = der.sequence(
    ...[der.tlv(0x87, Buffer.from('00000000000000000000ffff01020304', 'hex')), otherName],
    der.tlv(0x82, Buffer.from('a.example')),
  )
  const requested = der.sequence(
    der.oid('1.2.840.113549.1.9.14'),
    der.set(der.sequence(der.extension('2.5.29.17', names))),
  )
  const certificate = certificateFor(subject, [requested])
  t.equal(certificate.subject, 'O=a* + O=teams\nOU=u\nCN=last')
  t.equal(certificate.subjectAltName, 'DNS:a.example, IP Address:1.2.3.4')
  t.ok(certificate.publicKey.equals(createPublicKey(privateKey)))
  const nameless = certificateFor(der.sequence(), [requested])
  t.equal(nameless.subject, undefined)
  t.ok(
    nameless.raw.includes(
      der.extension(
        '2.5.29.17',
        der.sequence(
          der.tlv(0x82, Buffer.from('a.example')),
          der.tlv(0x87, Buffer.from([1, 2, 3, 4])),
        ),
        true,
      ),
    ),
  )
})

t.test('a certificate that is not in DER has no excuse, however OpenSSL reads it', async (t) => {
  const extension = [der.oid('2.5.29.19'), der.boolean(true), der.octets(der.sequence())]
  const name = der.sequence(attribute(commonName, utf8, Buffer.from('a')))
  const certificate = (last: Buffer): X509Certificate => {
    const body = der.sequence(
      ...[der.tlv(0xa0, der.integer(Buffer.from([2]))), der.integer(Buffer.from([5])), algorithm],
      ...[name, der.sequence(der.time(0), der.time(Date.UTC(2040, 0))), name, spki],
      der.tlv(0xa3, der.sequence(last)),
    )
    return new X509Certificate(signed(body))
  }
  const usual = certificate(der.sequence(...extension))
  t.same([isUnderstood(usual), isSoundlySigned(usual), boundsNames(usual)], [true, true, false])
  const endless = Buffer.concat([Buffer.from([0x30, 0x80]), ...extension, Buffer.alloc(2)])
  const odd = certificate(endless)
  t.same([isUnderstood(odd), boundsNames(odd)], [false, true])
})
