/** Which client certificates are good for a client, by what they say of their use: as Go's x509.Verify decides it. */
import { generateKeyPairSync, type KeyObject, sign } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import t, { type Test } from 'tap'
import { der } from '#net/der.js'
import { issueCertificate, signCertificate, signerOf } from '#net/x509.js'
import { createServer } from '../create-server.js'
import { call } from './start-server.js'

const folder = mkdtempSync(path.join(tmpdir(), 'kubelevel-usage-'))
t.teardown(() => rmSync(folder, { recursive: true, force: true }))

const day = 86_400_000
const now = Date.now()
const times = { notBeforeMs: now - day, notAfterMs: now + day }
const subject = { commonName: 'clients' }
const ca = issueCertificate({ use: 'authority', subject, ...times })
const otherCa = issueCertificate({ use: 'authority', subject, ...times })
const caFile = path.join(folder, 'ca.crt')
writeFileSync(caFile, ca.certPem)

const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
const key = privateKey.export({ type: 'sec1', format: 'pem' }) as string

const { bits, extension, integer, oid, sequence, set, text, time } = der
const forEncipherment = extension('2.5.29.15', bits(Buffer.from([0x20]), 5), true)
const purposes = (...ids: string[]) => extension('2.5.29.37', sequence(...ids.map(oid)))
const client = '1.3.6.1.5.5.7.3.2'
const server = '1.3.6.1.5.5.7.3.1'
const any = '2.5.29.37.0'

const carol = (
  extensions: Buffer[],
  issuer: { certPem: string; privateKey: KeyObject } = ca,
  bounds = times,
) =>
  signCertificate(
    {
      subject: sequence(set(sequence(oid('2.5.4.3'), text('carol')))),
      publicKey: publicKey.export({ type: 'spki', format: 'der' }),
      extensions,
      ...bounds,
    },
    signerOf(issuer.certPem, issuer.privateKey),
  )

/** One that says neither its version nor its use. OpenSSL makes them still. */
const versionOne = () => {
  const pair = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const name = sequence(set(sequence(oid('2.5.4.3'), text('old'))))
  const algorithm = sequence(oid('1.2.840.10045.4.3.2'))
  const body = sequence(
    integer(Buffer.from([1])),
    algorithm,
    name,
    sequence(time(times.notBeforeMs), time(times.notAfterMs)),
    name,
    pair.publicKey.export({ type: 'spki', format: 'der' }),
  )
  const whole = sequence(body, algorithm, bits(sign('sha256', body, pair.privateKey)))
  const certPem = `-----BEGIN CERTIFICATE-----\n${whole.toString('base64')}\n-----END CERTIFICATE-----\n`
  return { certPem, privateKey: pair.privateKey }
}

/** Asks a server that trusts this authority who shows a certificate; 401 where it lets nobody in. */
const asking = async (t: Test, clientCaFile: string) => {
  const running = await createServer({ storage: 'memory:', port: 0, clientCaFile })
  t.teardown(() => running.close())
  return async (cert: string): Promise<string | number> => {
    const { status, body } = await call(running, {
      method: 'POST',
      path: '/apis/authentication.k8s.io/v1/selfsubjectreviews',
      body: { apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' },
      token: '',
      cert,
      key,
    })
    return body.status?.userInfo?.username ?? status
  }
}

t.test('a client certificate is judged by its purposes and not by its key usage', async (t) => {
  const userOf = await asking(t, caFile)
  t.equal(await userOf(carol([purposes(client)])), 'carol')
  t.equal(await userOf(carol([forEncipherment, purposes(client, server)])), 'carol')
  t.equal(await userOf(carol([forEncipherment])), 'carol', 'no purpose is any purpose')
  t.equal(await userOf(carol([purposes(any)])), 'carol')
  t.equal(await userOf(carol([forEncipherment, purposes(server)])), 401)
  const unknown = extension('1.3.6.1.4.1.99999.1', sequence(), true)
  t.equal(await userOf(carol([forEncipherment, unknown])), 401)
  const past = { notBeforeMs: now - 2 * day, notAfterMs: now - day }
  t.equal(await userOf(carol([forEncipherment], ca, past)), 401)
  t.equal(await userOf(carol([forEncipherment], otherCa)), 401)
  // Whose own certificate is good, and who is no authority.
  const mallory = issueCertificate({
    use: 'client',
    subject: { commonName: 'mallory' },
    issuer: ca,
    ...times,
  })
  t.equal(await userOf(carol([forEncipherment], mallory) + mallory.certPem), 401)
})

t.test('an authority of version 1 is one where it is trusted itself', async (t) => {
  const old = versionOne()
  const oldFile = path.join(folder, 'old.crt')
  writeFileSync(oldFile, old.certPem)
  const userOf = await asking(t, oldFile)
  t.equal(await userOf(carol([purposes(client)], old)), 'carol')
  t.equal(await userOf(carol([purposes(client)], versionOne())), 401)
})
