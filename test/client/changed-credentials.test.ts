/** Tokens and certificates in files that are replaced while a client runs. */
import { rmSync, writeFileSync } from 'node:fs'
import https from 'node:https'
import path from 'node:path'
import type { TLSSocket } from 'node:tls'
import t, { type Test } from 'tap'
import { systemClock } from '#api/clock.js'
import { loadKubeconfig, loadKubeconfigUsers } from '#client/kubeconfig.js'
import { createTransport } from '#client/transport.js'
import { authorizationOf } from '#net/client-credentials.js'
import { issueCertificate } from '#net/x509.js'
import { listen } from '../listen.js'

const notBeforeMs = systemClock.now() - 60_000
const span = { notBeforeMs, notAfterMs: notBeforeMs + 3_600_000 }
const authority = (commonName: string) =>
  issueCertificate({ use: 'authority', subject: { commonName }, ...span })

/** A server that tells clients who they are, and a kubeconfig with files for it. */
const start = async (t: Test) => {
  const folder = t.testdir({ 'token.txt': 'first\n' })
  const ca = authority('ca')
  const own = { use: 'server', subject: { commonName: 's' }, names: ['127.0.0.1'] } as const
  const issued = issueCertificate({ ...own, issuer: ca, ...span })
  const tls = { ca: ca.certPem, requestCert: true, rejectUnauthorized: false }
  const server = https.createServer(
    { key: issued.keyPem, cert: issued.certPem, ...tls },
    ({ socket, headers }, answer) => {
      const { subject } = (socket as TLSSocket).getPeerCertificate()
      answer.end(`${subject?.CN} ${headers.authorization}`)
    },
  )
  const port = await listen(t, server)
  const write = (name: string, text: string) => writeFileSync(path.join(folder, name), text)
  const issue = (commonName: string) => {
    const { certPem, keyPem } = issueCertificate({
      use: 'client',
      subject: { commonName },
      issuer: ca,
      ...span,
    })
    return { certPem, keyPem }
  }
  const replace = ({ certPem, keyPem }: ReturnType<typeof issue>) => {
    write('cert.pem', certPem)
    write('key.pem', keyPem)
  }
  replace(issue('ada'))
  write('ca.pem', ca.certPem)
  const file = path.join(folder, 'config')
  const user = {
    tokenFile: 'token.txt',
    'client-certificate': 'cert.pem',
    'client-key': 'key.pem',
  }
  const cluster = { server: `https://127.0.0.1:${port}`, 'certificate-authority': 'ca.pem' }
  const document = {
    'current-context': 'c',
    contexts: [{ name: 'c', context: { cluster: 'c', user: 'u' } }],
    clusters: [{ name: 'c', cluster }],
    users: [{ name: 'u', user: { token: 'of the kubeconfig', ...user } }],
  }
  write('config', JSON.stringify(document))
  return { folder, file, write, issue, replace }
}

t.test('the next requests are made with what the files say then', async (t) => {
  const { folder, file, write, issue, replace } = await start(t)
  const transport = createTransport(await loadKubeconfig(file), { rereadMs: 0 })
  t.teardown(() => transport.close())
  const said = async (): Promise<string> => {
    let text = ''
    for await (const chunk of await transport.send({ method: 'GET', path: '/' })) text += chunk
    return text
  }
  t.equal(await said(), 'ada Bearer first')
  write('token.txt', 'second')
  t.equal(await said(), 'ada Bearer second')
  const bob = issue('bob')
  write('cert.pem', bob.certPem)
  t.equal(await said(), 'ada Bearer second', 'a certificate waits for its key')
  replace(bob)
  t.equal(await said(), 'bob Bearer second')
  for (const name of ['token.txt', 'key.pem']) rmSync(path.join(folder, name))
  t.equal(await said(), 'bob Bearer second', 'files that are away change nothing')
  write('token.txt', '\n')
  t.equal(await said(), 'bob Bearer second', 'nor does an empty one')
  write('ca.pem', authority('another').certPem)
  replace(bob)
  await t.rejects(said(), 'the server is trusted no more')
})

t.test('they are not read for each request', async (t) => {
  const { file, write } = await start(t)
  const transport = createTransport(await loadKubeconfig(file))
  t.teardown(() => transport.close())
  write('token.txt', 'second')
  let text = ''
  for await (const chunk of await transport.send({ method: 'GET', path: '/' })) text += chunk
  t.equal(text, 'ada Bearer first')
})

t.test('credentials for webhooks follow their files, too', async (t) => {
  const { file, write } = await start(t)
  const credentialsOf = await loadKubeconfigUsers(file, 0)
  const shown = () => authorizationOf(credentialsOf('u')!).authorization
  t.equal(shown(), 'Bearer first')
  write('token.txt', 'second')
  t.equal(shown(), 'Bearer second')
})
