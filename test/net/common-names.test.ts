import { createPublicKey, X509Certificate } from 'node:crypto'
import type { TLSSocket } from 'node:tls'
import type { FastifyRequest } from 'fastify'
import t from 'tap'
import { parseCertificateRequest } from '#api/certificates/certificate-request.js'
import { certificateReader } from '#authn/client-certificate.js'
import { isFrontProxy } from '#metrics-server/front-proxy.js'
import { der } from '#net/der.js'
import { issueCertificate, signCertificate, signerOf } from '#net/x509.js'

/** Of Go's crypto/x509, for the common names `first` and `last`. */
const request = `-----BEGIN CERTIFICATE REQUEST-----
MIHbMIGBAgEAMB8xDjAMBgNVBAMTBWZpcnN0MQ0wCwYDVQQDEwRsYXN0MFkwEwYH
KoZIzj0CAQYIKoZIzj0DAQcDQgAEw1JJGAZp9zGuSYk1d312BEUgLPaDx8QJr+AO
kz812Gl4gOx/zgZFGVgDuZLiiJS+WNjG+b+AUwyjZ7pEZCBMU6AAMAoGCCqGSM49
BAMCA0kAMEYCIQDLl7rIvaBG3AOvzu0UdTxWTG5WjH2yFnxYJOkcIaL+iQIhALR7
83KY7upuFkqG5Otm3Dlx4DvecFX6+DNAachc6dBy
-----END CERTIFICATE REQUEST-----
`

const life = { notBeforeMs: Date.UTC(2020, 0), notAfterMs: Date.UTC(2030, 0) }
const authority = issueCertificate({ ...life, use: 'authority', subject: { commonName: 'ca' } })

const certificate = (subject: Buffer): X509Certificate => {
  const publicKey = createPublicKey(authority.privateKey).export({ type: 'spki', format: 'der' })
  const extensions = [der.extension('2.5.29.19', der.sequence(), true)]
  const signer = signerOf(authority.certPem, authority.privateKey)
  return new X509Certificate(signCertificate({ ...life, subject, publicKey, extensions }, signer))
}

t.test('of several common names the last one is that of a user, node or proxy', async (t) => {
  const asked = parseCertificateRequest(Buffer.from(request).toString('base64'))
  if ('error' in asked) throw new Error(asked.error)
  t.equal(asked.subject.commonName, 'last')

  const named = (name: string) => der.set(der.sequence(der.oid('2.5.4.3'), der.text(name)))
  const shown = certificate(der.sequence(named('first'), named('last')))
  const socket = {
    authorized: true,
    getPeerCertificate: () => shown.toLegacyObject(),
    getPeerX509Certificate: () => shown,
    isSessionReused: () => false,
  } as unknown as TLSSocket
  const ofConnection = { raw: { socket } } as unknown as FastifyRequest
  const headers = { username: [], uid: [], group: [], extraPrefix: [] }
  const trust = {
    authorities: [authority.certPem],
    requestHeader: { authority: authority.certPem },
  }
  const trusting = (name: string) =>
    certificateReader(
      () => trust,
      { allowedNames: [name], headers },
      { now: () => life.notBeforeMs },
    )
  t.match(trusting('last').identity(ofConnection), { name: 'last' })
  for (const [name, isKnown] of [
    ['first', false],
    ['last', true],
  ] as const) {
    t.equal(trusting(name).isFrontProxy(ofConnection), isKnown)
    t.equal(isFrontProxy(socket, { authority: '', allowedNames: [name] }), isKnown)
  }
})
