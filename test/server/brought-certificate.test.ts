/** A serving certificate or a CA of the user's own: it is shown, and the server's own clients still know whom they talk to. */
import { execFileSync, spawnSync } from 'node:child_process'
import { X509Certificate } from 'node:crypto'
import { copyFileSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import tls from 'node:tls'
import t from 'tap'
import { createClient } from '#client/client.js'
import { parseKubeconfig } from '#client/kubeconfig.js'
import { resources } from '#client/resources.js'
import { issueCertificate } from '#net/x509.js'
import type { Server, ServerOptions } from '#src/index.js'
import { createServer } from '../create-server.js'
import { eventually } from '../eventually.js'

const day = 86_400_000
const life = { notBeforeMs: Date.now() - day, notAfterMs: Date.now() + 40 * day }
const issuer = issueCertificate({ ...life, use: 'authority', subject: { commonName: 'theirs' } })
const theirs = issueCertificate({
  ...life,
  use: 'server',
  subject: { commonName: 'api.example.com' },
  names: ['api.example.com', '127.0.0.1'],
  issuer,
})

/** The issuer of the certificate that who trusts only `ca` is shown. Rejects when that is not the one that signed it. */
const issuerShown = ({ url }: Server, ca: string, servername?: string): Promise<string> =>
  new Promise((resolve, reject) => {
    const port = Number(new URL(url).port)
    const options = { host: '127.0.0.1', port, ca, ...(servername && { servername }) }
    const socket = tls.connect(options, () => {
      resolve(String(socket.getPeerCertificate().issuer.CN))
      socket.destroy()
    })
    socket.once('error', reject)
  })

t.test('one that is found in the folder of certificates, or named by options', async (t) => {
  const [crt, key] = [theirs.certPem, theirs.keyPem]
  const folder = t.testdir({
    found: { 'apiserver.crt': crt, 'apiserver.key': key },
    named: { 'a.crt': crt, 'a.key': key },
  })
  const inFolder = (...parts: string[]): string => path.join(folder, ...parts)
  const tlsFiles = {
    tlsCertFile: inFolder('named', 'a.crt'),
    tlsPrivateKeyFile: inFolder('named', 'a.key'),
  }
  const ways: [string, ServerOptions][] = [
    ['found', { certDir: inFolder('found') }],
    ['named', { certDir: inFolder('named'), ...tlsFiles }],
  ]
  for (const [way, options] of ways)
    for (const start of ['first', 'second'])
      await t.test(`${way}, ${start} start`, async (t) => {
        const server = await createServer({ storage: 'memory:', ...options })
        t.teardown(() => server.close())
        t.equal(await issuerShown(server, issuer.certPem), 'theirs')
        t.equal(await issuerShown(server, issuer.certPem, 'api.example.com'), 'theirs')
        await t.rejects(issuerShown(server, server.caPem), 'nobody else signed it')
        const config = await parseKubeconfig(server.kubeconfig)
        const { token: _, ...byCertificate } = config
        for (const one of [config, byCertificate]) {
          const client = createClient(one)
          t.teardown(() => client.close())
          const namespaces = await client.list(resources.namespaces)
          t.ok(namespaces.items.length > 0)
        }
      })
  t.equal(readFileSync(inFolder('found', 'apiserver.crt'), 'utf8'), crt)
})

t.test('one that takes the place of the former is shown without a start', async (t) => {
  const subject = { commonName: 'new' }
  const authority = issueCertificate({ ...life, use: 'authority', subject })
  const names = ['127.0.0.1']
  const next = issueCertificate({ ...life, use: 'server', subject, names, issuer: authority })
  const ways: [string, (crt: string, key: string) => ServerOptions][] = [
    ['named', (tlsCertFile, tlsPrivateKeyFile) => ({ tlsCertFile, tlsPrivateKeyFile })],
    ['found', (crt) => ({ certDir: path.dirname(crt) })],
  ]
  for (const [way, options] of ways)
    await t.test(way, async (t) => {
      const folder = t.testdir({ 'apiserver.crt': theirs.certPem, 'apiserver.key': theirs.keyPem })
      const [crt, key] = [path.join(folder, 'apiserver.crt'), path.join(folder, 'apiserver.key')]
      const server = await createServer({ storage: 'memory:', ...options(crt, key) })
      t.teardown(() => server.close())
      writeFileSync(crt, next.certPem)
      t.equal(await issuerShown(server, issuer.certPem), 'theirs', 'its key is not there yet')
      writeFileSync(key, next.keyPem)
      const isShown = () => issuerShown(server, authority.certPem).catch(() => undefined)
      t.equal(await eventually('the new one is shown', isShown), 'new')
      await server.close()
    })
})

const skip = spawnSync('openssl', ['version']).status !== 0 && 'no openssl to make authorities with'

/** A CA as openssl makes it: its key is no P-256, the name has more parts than one, the id of the key is another hash than ours. */
const authorities: Readonly<Record<string, readonly string[]>> = {
  rsa: ['-newkey', 'rsa:2048'],
  'p-384': ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-384'],
  ed25519: ['-newkey', 'ed25519'],
  'without a key id': [
    ...['-newkey', 'rsa:2048', '-addext', 'subjectKeyIdentifier=none'],
    ...['-addext', 'authorityKeyIdentifier=none'],
  ],
}
const makeAuthority = (folder: string, how: readonly string[]): void => {
  const files = ['-keyout', path.join(folder, 'ca.key'), '-out', path.join(folder, 'ca.crt')]
  const named = ['-subj', '/DC=org/O=Example, Inc./CN=their CA', '-days', '3650']
  execFileSync('openssl', ['req', '-x509', '-nodes', ...named, ...files, ...how], {
    stdio: 'ignore',
  })
}

t.test(
  'a CA that is found in the folder of certificates issues what the server needs',
  async (t) => {
    for (const [name, how] of Object.entries(authorities))
      await t.test(name, async (t) => {
        const certDir = t.testdir({})
        const file = (end: string): string => path.join(certDir, end)
        makeAuthority(certDir, how)
        const ca = readFileSync(file('ca.crt'), 'utf8')
        const authority = new X509Certificate(ca)
        const shown: string[] = []
        for (const start of ['first', 'second']) {
          const server = await createServer({ storage: 'memory:', certDir })
          t.equal(server.caPem, ca)
          t.equal(await issuerShown(server, ca), 'their CA', `${start} start`)
          const { token: _, ...byCertificate } = await parseKubeconfig(server.kubeconfig)
          const client = createClient(byCertificate)
          t.ok((await client.list(resources.namespaces)).items.length > 0)
          client.close()
          shown.push(readFileSync(file('apiserver.crt'), 'utf8'))
          await server.close()
        }
        t.equal(shown[0], shown[1], 'what was issued is kept')
        for (const issued of ['apiserver.crt', 'admin.crt']) {
          t.equal(new X509Certificate(readFileSync(file(issued))).issuer, authority.subject)
          execFileSync('openssl', ['verify', '-CAfile', file('ca.crt'), file(issued)])
        }
      })
  },
)

t.test(
  'a serving certificate of that CA is used as it is; half a CA is refused',
  { skip },
  async (t) => {
    const certDir = t.testdir({})
    const file = (end: string): string => path.join(certDir, end)
    makeAuthority(certDir, authorities.rsa!)
    const [key, asked] = [file('apiserver.key'), file('asked')]
    const names = '-addext subjectAltName=IP:127.0.0.1 -subj /CN=kube-apiserver'.split(' ')
    const openssl = (...args: string[]) => execFileSync('openssl', args, { stdio: 'ignore' })
    openssl('req', '-new', '-newkey', 'rsa:2048', '-nodes', ...names, '-keyout', key, '-out', asked)
    const by = ['-CA', file('ca.crt'), '-CAkey', file('ca.key'), '-copy_extensions', 'copy']
    openssl('x509', '-req', '-in', asked, ...by, '-days', '9', '-out', file('apiserver.crt'))
    const brought = readFileSync(file('apiserver.crt'), 'utf8')
    const server = await createServer({ storage: 'memory:', certDir })
    t.equal(await issuerShown(server, server.caPem), 'their CA')
    await server.close()
    t.equal(readFileSync(file('apiserver.crt'), 'utf8'), brought)

    const start = () => createServer({ storage: 'memory:', certDir })
    const ca = readFileSync(file('ca.crt'), 'utf8')
    copyFileSync(key, file('ca.key'))
    await t.rejects(start(), /ca\.key is not the key of ca\.crt/)
    rmSync(file('ca.key'))
    await t.rejects(start(), /there is no ca\.key beside ca\.crt/)
    t.equal(readFileSync(file('ca.crt'), 'utf8'), ca, 'nothing takes its place')
  },
)
