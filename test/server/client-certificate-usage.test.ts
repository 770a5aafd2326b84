/** Which client certificates are good for a client, by what they say of their use: as Go's x509.Verify decides it. */
import { generateKeyPairSync, type KeyObject } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import t from 'tap'
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

const { bits, extension, oid, sequence, set, text } = der
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

t.test('a client certificate is judged by its purposes and not by its key usage', async (t) => {
  const running = await createServer({ storage: 'memory:', port: 0, clientCaFile: caFile })
  t.teardown(() => running.close())
  const userOf = async (cert: string) => {
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
