/** A serving certificate of the user's own: it is shown, and the server's own clients still know whom they talk to. */
import { readFileSync } from 'node:fs'
import path from 'node:path'
import tls from 'node:tls'
import t from 'tap'
import { createClient } from '#client/client.js'
import { parseKubeconfig } from '#client/kubeconfig.js'
import { resources } from '#client/resources.js'
import { issueCertificate } from '#net/x509.js'
import { createServer, type Server, type ServerOptions } from '#src/index.js'

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
