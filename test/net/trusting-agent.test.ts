import { generateKeyPairSync } from 'node:crypto'
import { once } from 'node:events'
import https from 'node:https'
import type { AddressInfo } from 'node:net'
import t from 'tap'
import { goNetError } from '#go/net-error.js'
import { der } from '#net/der.js'
import { trusted } from '#net/trusted.js'
import { type Issued, issueCertificate, signCertificate, signerOf } from '#net/x509.js'
import { TrustingAgent } from '#webhook/trusting-agent.js'

const inForce = { notBeforeMs: Date.now() - 60_000, notAfterMs: Date.now() + 86_400_000 }
const over = { notBeforeMs: Date.now() - 86_400_000, notAfterMs: Date.now() - 3_600_000 }

const authorityOf = (life = inForce): Issued =>
  issueCertificate({ ...life, use: 'authority', subject: { commonName: 'same' } })

interface Leaf {
  readonly name?: string
  readonly life?: typeof inForce
  readonly purpose?: string
  /** Bits of its key usage, and how many of the last eight do not count. */
  readonly usage?: readonly [Buffer, number]
}

/** As Go signs a certificate that has its authority's subject: without the id of the authority's key. */
const leafOf = (
  { certPem, privateKey: authorityKey }: Issued,
  { name = 'localhost', life = inForce, purpose = '1.3.6.1.5.5.7.3.1', usage }: Leaf,
) => {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const signer = { ...signerOf(certPem, authorityKey), keyId: undefined }
  const extensions = [
    der.extension('2.5.29.19', der.sequence(), true),
    der.extension('2.5.29.37', der.sequence(der.oid(purpose))),
    der.extension('2.5.29.17', der.sequence(der.tlv(0x82, Buffer.from(name)))),
  ]
  if (usage) extensions.push(der.extension('2.5.29.15', der.bits(...usage), true))
  const spki = publicKey.export({ type: 'spki', format: 'der' })
  const fields = { ...life, subject: signer.name, publicKey: spki, extensions }
  const key = privateKey.export({ type: 'pkcs8', format: 'pem' }) as string
  return { cert: signCertificate(fields, signer), key }
}

t.test('a certificate with its authority’s subject is checked as any other', async (t) => {
  const authority = authorityOf()
  const namesake = authorityOf()
  const past = authorityOf(over)
  const unknown = 'tls: failed to verify certificate: x509: certificate signed by unknown authority'
  const cases: [string, Issued, Leaf, string, string][] = [
    ['signed by the authority', authority, {}, authority.certPem, 'ok'],
    ['by one of two', authority, {}, `${namesake.certPem}${authority.certPem}`, 'ok'],
    ['by another of that name', authority, {}, namesake.certPem, unknown],
    ['by one whose time is over', past, {}, past.certPem, unknown],
    [
      'for another name',
      authority,
      { name: 'elsewhere' },
      authority.certPem,
      'tls: failed to verify certificate: x509: certificate is valid for elsewhere, not localhost',
    ],
    [
      'when its time is over',
      authority,
      { life: over },
      authority.certPem,
      'tls: failed to verify certificate: x509: certificate has expired or is not yet valid',
    ],
    [
      'for clients alone',
      authority,
      { purpose: '1.3.6.1.5.5.7.3.2' },
      authority.certPem,
      'tls: failed to verify certificate: x509: certificate specifies an incompatible key usage',
    ],
    [
      'with a key usage that no server needs',
      authority,
      { usage: [Buffer.from([0x02]), 1] },
      authority.certPem,
      'ok',
    ],
    [
      'before its time',
      authority,
      { life: { notBeforeMs: Date.now() + 3_600_000, notAfterMs: Date.now() + 7_200_000 } },
      authority.certPem,
      'tls: failed to verify certificate: x509: certificate has expired or is not yet valid',
    ],
  ]
  for (const [name, signer, leaf, ca, expected] of cases)
    await t.test(name, async (t) => {
      let asked = 0
      const server = https.createServer(leafOf(signer, leaf), (_, response) => {
        asked += 1
        response.end('ok')
      })
      await once(server.listen(0, '127.0.0.1'), 'listening')
      t.teardown(() => server.close())
      const agent = new TrustingAgent({ keepAlive: false })
      t.teardown(() => agent.destroy())
      const { port } = server.address() as AddressInfo
      const ask = (): Promise<string> =>
        new Promise((resolve) => {
          const to = { host: '127.0.0.1', servername: 'localhost', port, agent, ...trusted(ca) }
          const request = https.get(to, (response) => {
            response.setEncoding('utf8').on('data', resolve)
          })
          request.on('error', (error) => resolve(goNetError(error)))
        })
      t.equal(await ask(), expected)
      // A second connection may resume the session of the first, whose certificate is then not sent again.
      t.equal(await ask(), expected)
      t.equal(asked, expected === 'ok' ? 2 : 0)
    })
})
