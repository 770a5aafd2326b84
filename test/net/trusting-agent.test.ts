import { constants, generateKeyPairSync, sign, X509Certificate } from 'node:crypto'
import { once } from 'node:events'
import https from 'node:https'
import type { AddressInfo } from 'node:net'
import tls from 'node:tls'
import t, { type Test } from 'tap'
import { goNetError } from '#go/net-error.js'
import { der, readElements } from '#net/der.js'
import { certificateIsFor } from '#net/server-name.js'
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
  readonly also?: Buffer
  /** Instead of the name. */
  readonly address?: Buffer
  /** Signed once more, with this algorithm. */
  readonly signature?: { readonly id: string; readonly digest: string }
}

const clientUsage = [Buffer.from([0x02]), 1] as const

/** An extension that nobody knows. */
const strange = der.extension('1.3.6.1.4.1.57683.99', der.sequence(), true)
const onlyForElsewhere = der.extension(
  '2.5.29.30',
  der.sequence(der.tlv(0xa0, der.sequence(der.tlv(0x82, Buffer.from('elsewhere'))))),
)

/** An authority with an extension more. */
const authorityWith = (...more: readonly Buffer[]): Issued => {
  const { certPem } = authorityOf()
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const signer = { ...signerOf(certPem, privateKey), keyId: undefined }
  const extensions = [der.extension('2.5.29.19', der.sequence(der.boolean(true)), true), ...more]
  const spki = publicKey.export({ type: 'spki', format: 'der' })
  const fields = { ...inForce, subject: signer.name, publicKey: spki, extensions }
  return { certPem: signCertificate(fields, signer), keyPem: '', privateKey }
}

const signedAnew = (
  pem: string,
  { id, digest }: NonNullable<Leaf['signature']>,
  key: Issued['privateKey'],
): string => {
  const [body] = readElements(readElements(new X509Certificate(pem).raw)[0]!.content)
  const fields = readElements(body!.content).map(({ whole }) => whole)
  const algorithm = der.sequence(der.oid(id))
  fields[2] = algorithm
  const signed = der.sequence(...fields)
  const whole = der.sequence(signed, algorithm, der.bits(sign(digest, signed, key)))
  return new X509Certificate(whole).toString()
}

/** As Go signs a certificate that has its authority's subject: without the id of the authority's key. */
const leafOf = (
  { certPem, privateKey: authorityKey }: Issued,
  {
    name = 'localhost',
    life = inForce,
    purpose = '1.3.6.1.5.5.7.3.1',
    usage,
    also,
    address,
    signature,
  }: Leaf,
) => {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const signer = { ...signerOf(certPem, authorityKey), keyId: undefined }
  const extensions = [
    der.extension('2.5.29.19', der.sequence(), true),
    der.extension('2.5.29.37', der.sequence(der.oid(purpose))),
    der.extension(
      '2.5.29.17',
      der.sequence(address ? der.tlv(0x87, address) : der.tlv(0x82, Buffer.from(name))),
    ),
  ]
  if (usage) extensions.push(der.extension('2.5.29.15', der.bits(...usage), true))
  if (also) extensions.push(also)
  const spki = publicKey.export({ type: 'spki', format: 'der' })
  const fields = { ...life, subject: signer.name, publicKey: spki, extensions }
  const key = privateKey.export({ type: 'pkcs8', format: 'pem' }) as string
  const cert = signCertificate(fields, signer)
  return { cert: signature ? signedAnew(cert, signature, authorityKey) : cert, key }
}

t.test('a certificate with its authority’s subject is checked as any other', async (t) => {
  const authority = authorityOf()
  const namesake = authorityOf()
  const past = authorityOf(over)
  const bounded = authorityWith(onlyForElsewhere)
  const odd = authorityWith(strange)
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
      { usage: clientUsage },
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
    [
      'signed with SHA-1',
      authority,
      { signature: { id: '1.2.840.10045.4.1', digest: 'sha1' } },
      authority.certPem,
      unknown,
    ],
    [
      'signed with SHA-384',
      authority,
      { signature: { id: '1.2.840.10045.4.3.3', digest: 'sha384' } },
      authority.certPem,
      'ok',
    ],
    ['by one for other names alone', bounded, {}, bounded.certPem, unknown],
    ['by one that nobody understands', odd, {}, odd.certPem, unknown],
    [
      'with a key usage that no server needs, and what nobody understands',
      authority,
      { usage: clientUsage, also: strange },
      authority.certPem,
      'tls: failed to verify certificate: x509: certificate specifies an incompatible key usage',
    ],
    [
      'with a key usage that no server needs, after its time',
      authority,
      { usage: clientUsage, life: over },
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

/** Speaks HTTP by itself: `heard` is all that has come, `last` the connection that came last. */
const plainServer = async (t: Test, options: tls.TlsOptions) => {
  const state = { heard: '', port: 0, connections: 0, last: undefined as tls.TLSSocket | undefined }
  const server = tls.createServer(options, (socket) => {
    state.last = socket
    state.connections += 1
    socket.on('error', () => undefined)
    socket.on('data', (chunk) => {
      state.heard += chunk
      socket.write('HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok')
    })
  })
  // What a refused client ends a handshake with.
  server.on('tlsClientError', () => undefined)
  await once(server.listen(0, '127.0.0.1'), 'listening')
  t.teardown(() => server.close())
  t.teardown(() => state.last?.destroy())
  state.port = (server.address() as AddressInfo).port
  return state
}

const askWith = (options: https.RequestOptions): Promise<string> =>
  new Promise((resolve) => {
    const request = https.request({ host: '127.0.0.1', method: 'POST', ...options }, (response) => {
      response.on('data', (chunk) => response.on('end', () => resolve(String(chunk))))
    })
    request.on('error', (error) => resolve(goNetError(error)))
    request.end('a secret')
  })

/** Newer Nodes keep no connection with a check for names that its agent does not know of. */
const keptConnections = { keepAlive: true, checkServerIdentity: certificateIsFor }

for (const version of ['TLSv1.2', 'TLSv1.3'] as const)
  t.test(`a server of ${version} that is not to be trusted hears nothing`, async (t) => {
    const authority = authorityOf()
    const server = await plainServer(t, { ...leafOf(authority, {}), maxVersion: version })
    const agent = new TrustingAgent(keptConnections)
    t.teardown(() => agent.destroy())
    const to = { port: server.port, agent, servername: 'localhost' }
    const refused = /^tls: failed to verify certificate/
    t.match(await askWith({ ...to, ...trusted(authorityOf().certPem) }), refused, 'another CA')
    const good = trusted(authority.certPem)
    t.match(await askWith({ ...to, ...good, servername: 'elsewhere' }), refused, 'another name')
    const { servername: _, ...byAddress } = to
    t.match(await askWith({ ...byAddress, ...good }), refused, 'an address')
    // A connection of its own, on which all of it would have come before.
    t.equal(await askWith({ ...to, ...good, headers: { 'x-last': 'yes' } }), 'ok')
    t.equal(server.heard.match(/POST/g)?.length, 1)
    t.match(server.heard, /x-last: yes/)
    const { connections } = server
    t.equal(await askWith({ ...to, ...good }), 'ok')
    t.equal(server.connections, connections, 'a kept connection is used again')
    t.match(await askWith({ ...to, ...trusted(authorityOf().certPem) }), refused)
    t.match(await askWith({ ...to, ...good, servername: 'elsewhere' }), refused)
    t.equal(server.heard.match(/POST/g)?.length, 2)
  })

t.test('a certificate for an address is for that address alone', async (t) => {
  const authority = authorityOf()
  const names = (address: number[]): Leaf => ({ address: Buffer.from(address) })
  const agent = new TrustingAgent({ keepAlive: false })
  t.teardown(() => agent.destroy())
  for (const [address, expected] of [
    [[127, 0, 0, 1], 'ok'],
    [[127, 0, 0, 2], /is valid for 127.0.0.2, not 127.0.0.1/],
  ] as const) {
    const server = await plainServer(t, leafOf(authority, names([...address])))
    t.match(await askWith({ port: server.port, agent, ...trusted(authority.certPem) }), expected)
  }
})

t.test('a kept connection ends when its server shows another certificate', async (t) => {
  const authority = authorityOf()
  const server = await plainServer(t, {
    ...leafOf(authority, {}),
    maxVersion: 'TLSv1.2',
    // Otherwise the session goes on, and no certificate is shown.
    secureOptions: constants.SSL_OP_NO_SESSION_RESUMPTION_ON_RENEGOTIATION,
  })
  const agent = new TrustingAgent(keptConnections)
  t.teardown(() => agent.destroy())
  const ca = trusted(authority.certPem)
  const to = { port: server.port, agent, servername: 'localhost', ...ca }
  t.equal(await askWith(to), 'ok')
  t.equal(Object.keys(agent.freeSockets).length, 1, 'it is kept')
  const { last } = server
  last!.setKeyCert(tls.createSecureContext(leafOf(authorityOf(), {})))
  const closed = once(last!, 'close')
  last!.renegotiate({}, () => undefined)
  await closed
  t.equal(Object.keys(agent.freeSockets).length, 0)
})
