/** How the server asks kubelets: what it shows them, whom it trusts, and where it finds them. */
import { writeFileSync } from 'node:fs'
import https from 'node:https'
import type { AddressInfo } from 'node:net'
import path from 'node:path'
import type { TLSSocket } from 'node:tls'
import t, { type Test } from 'tap'
import { resources } from '#client/resources.js'
import { issueCertificate } from '#net/x509.js'
import type { Server, ServerOptions } from '#src/index.js'
import { eventually } from '../eventually.js'
import { call, clientOf, startServer } from './start-server.js'

const day = 86_400_000
const life = { notBeforeMs: Date.now() - day, notAfterMs: Date.now() + 40 * day }
const authority = (commonName: string) =>
  issueCertificate({ ...life, use: 'authority', subject: { commonName } })
const ofNodes = authority('of-nodes')
const client = issueCertificate({
  ...life,
  use: 'client',
  subject: { commonName: 'theirs' },
  issuer: ofNodes,
})

/** It answers with whose certificate it was shown. */
const startKubelet = async (t: Test): Promise<number> => {
  const { certPem, keyPem } = issueCertificate({
    ...life,
    use: 'server',
    subject: { commonName: 'kubelet' },
    names: ['127.0.0.1'],
    issuer: ofNodes,
  })
  const options = { cert: certPem, key: keyPem, requestCert: true, rejectUnauthorized: false }
  const kubelet = https.createServer(options, (request, response) => {
    const { subject } = (request.socket as TLSSocket).getPeerCertificate()
    response.end(`${request.url} for ${subject?.CN}`)
  })
  await new Promise<void>((listening) => kubelet.listen(0, '127.0.0.1', listening))
  t.teardown(() => new Promise((closed) => kubelet.close(closed)))
  return (kubelet.address() as AddressInfo).port
}

t.test('logs and proxies go to the kubelet as the flags say', async (t) => {
  const Port = await startKubelet(t)
  const folder = t.testdir({
    'client.crt': client.certPem,
    'client.key': client.keyPem,
    'nodes.crt': ofNodes.certPem,
    'others.crt': authority('of-others').certPem,
  })
  const file = (name: string): string => path.join(folder, name)
  const start = async (t: Test, options: ServerOptions): Promise<Server> => {
    const server = await startServer(t, {
      ...options,
      disableAdmissionPlugins: ['ServiceAccount'],
    })
    const client = await clientOf(t, server)
    await client.create(resources.nodes, {
      metadata: { name: 'n' },
      status: {
        addresses: [
          { type: 'ExternalIP', address: '127.0.0.1' },
          { type: 'Hostname', address: 'n' },
        ],
        daemonEndpoints: { kubeletEndpoint: { Port } },
      },
    })
    await client.create(resources.pods, {
      metadata: { name: 'p', namespace: 'default' },
      spec: { nodeName: 'n', containers: [{ name: 'c', image: 'i' }] },
    })
    return server
  }
  const log = '/api/v1/namespaces/default/pods/p/log'
  const asked = async (server: Server, url: string) => {
    const { status, text } = await call(server, { path: url })
    return `${status} ${status === 200 ? text : JSON.parse(text).message}`
  }

  await t.test('with a certificate of its own, to any kubelet', async (t) => {
    const server = await start(t, { kubeletPreferredAddressTypes: ['InternalIP', 'ExternalIP'] })
    const own = 'kube-apiserver-kubelet-client'
    t.equal(await asked(server, log), `200 /containerLogs/default/p/c for ${own}`)
    t.equal(await asked(server, '/api/v1/nodes/n/proxy/healthz'), `200 /healthz for ${own}`)
  })

  await t.test('with the one that is given, to kubelets of one authority', async (t) => {
    const given = {
      kubeletPreferredAddressTypes: ['ExternalIP'],
      kubeletClientCertificate: file('client.crt'),
      kubeletClientKey: file('client.key'),
    }
    const certificateAuthority = file('nodes.crt')
    const server = await start(t, { ...given, kubeletCertificateAuthority: certificateAuthority })
    t.equal(await asked(server, log), '200 /containerLogs/default/p/c for theirs')
    t.equal(await asked(server, '/api/v1/nodes/n/proxy/healthz'), '200 /healthz for theirs')

    const others = await start(t, { ...given, kubeletCertificateAuthority: file('others.crt') })
    const unknown =
      'tls: failed to verify certificate: x509: certificate signed by unknown authority'
    t.equal(
      await asked(others, log),
      `500 Get "https://127.0.0.1:${Port}/containerLogs/default/p/c": ${unknown}`,
    )
    t.match(await asked(others, '/api/v1/nodes/n/proxy/healthz'), unknown)
    t.equal(
      await asked(others, `${log}?insecureSkipTLSVerifyBackend=true`),
      '200 /containerLogs/default/p/c for theirs',
    )
  })

  await t.test('with the one that takes its place', async (t) => {
    const folder = t.testdir({ 'client.crt': client.certPem, 'client.key': client.keyPem })
    const [crt, key] = [path.join(folder, 'client.crt'), path.join(folder, 'client.key')]
    const server = await start(t, {
      kubeletPreferredAddressTypes: ['ExternalIP'],
      kubeletClientCertificate: crt,
      kubeletClientKey: key,
    })
    t.equal(await asked(server, log), '200 /containerLogs/default/p/c for theirs')
    const subject = { commonName: 'next' }
    const next = issueCertificate({ ...life, use: 'client', subject, issuer: ofNodes })
    writeFileSync(crt, next.certPem)
    t.equal(await asked(server, log), '200 /containerLogs/default/p/c for theirs')
    writeFileSync(key, next.keyPem)
    const isNext = async () => (await asked(server, log)).endsWith('for next')
    t.ok(await eventually('the new one is shown', isNext))
  })

  await t.test('of the authority that takes the place of the former', async (t) => {
    const ca = path.join(t.testdir({ 'ca.crt': ofNodes.certPem }), 'ca.crt')
    const server = await start(t, {
      kubeletPreferredAddressTypes: ['ExternalIP'],
      kubeletCertificateAuthority: ca,
    })
    t.match(await asked(server, log), /^200 /)
    writeFileSync(ca, authority('of-others').certPem)
    const isUnknown = async () => (await asked(server, log)).startsWith('500 ')
    t.ok(await eventually('the former is not trusted', isUnknown))
  })

  await t.test('at an address of the types that are wanted', async (t) => {
    const server = await start(t, { kubeletPreferredAddressTypes: ['InternalIP'] })
    const known = '[{ExternalIP 127.0.0.1} {Hostname n}]'
    t.equal(await asked(server, log), `500 no preferred addresses found; known addresses: ${known}`)
  })

  await t.test('files that are none end the start', async (t) => {
    await t.rejects(startServer(t, { kubeletCertificateAuthority: file('none') }), /none/)
    await t.rejects(
      startServer(t, {
        kubeletClientCertificate: file('nodes.crt'),
        kubeletClientKey: file('client.key'),
      }),
      /is not the key of/,
    )
  })
})
