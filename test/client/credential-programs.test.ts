/** Programs that know a user's credentials: the `exec` of a kubeconfig. */
import { chmodSync, readFileSync, writeFileSync } from 'node:fs'
import https from 'node:https'
import path from 'node:path'
import type { TLSSocket } from 'node:tls'
import t, { type Test } from 'tap'
import { systemClock } from '#api/clock.js'
import { loadKubeconfig } from '#client/kubeconfig.js'
import { createTransport } from '#client/transport.js'
import { issueCertificate } from '#net/x509.js'
import { eventually } from '../eventually.js'
import { listen } from '../listen.js'

const notBeforeMs = systemClock.now() - 60_000
const span = { notBeforeMs, notAfterMs: notBeforeMs + 3_600_000 }
const ca = issueCertificate({ use: 'authority', subject: { commonName: 'ca' }, ...span })
const issued = (use: 'server' | 'client', commonName: string, names?: string[]) =>
  issueCertificate({ use, subject: { commonName }, ...(names && { names }), issuer: ca, ...span })
const v1 = 'client.authentication.k8s.io/v1'

/** A server that tells clients who they are, and one user of it whose program prints what is in a file and counts its runs. */
const start = async (t: Test, exec: object = {}) => {
  const own = issued('server', 's', ['127.0.0.1'])
  const refused = new Set<string>()
  const server = https.createServer(
    {
      ...{ key: own.keyPem, cert: own.certPem, ca: ca.certPem },
      ...{ requestCert: true, rejectUnauthorized: false },
    },
    ({ socket, headers: { authorization = '' } }, answer) => {
      answer.statusCode = refused.has(authorization) ? 401 : 200
      const { subject } = (socket as TLSSocket).getPeerCertificate()
      answer.end(`${subject?.CN} ${authorization}`)
    },
  )
  const folder = t.testdir({ runs: '', printed: '' })
  const place = (name: string) => path.join(folder, name)
  writeFileSync(
    place('login'),
    `#!/bin/sh\necho "$1 $OWN $KUBERNETES_EXEC_INFO" >> '${place('runs')}'\ncat '${place('printed')}'\n[ -z "$WAIT" ] || exec sleep $WAIT\nexit \${CODE:-0}\n`,
  )
  chmodSync(place('login'), 0o755)
  const port = await listen(t, server)
  const cluster = {
    server: `https://127.0.0.1:${port}`,
    'certificate-authority-data': Buffer.from(ca.certPem).toString('base64'),
    extensions: [{ name: 'client.authentication.k8s.io/exec', extension: { realm: 'r' } }],
  }
  const program = {
    ...{ apiVersion: v1, command: './login', interactiveMode: 'Never', args: ['--now'] },
    env: [{ name: 'OWN', value: 'mine' }],
    ...exec,
  }
  writeFileSync(
    place('config'),
    JSON.stringify({
      'current-context': 'c',
      contexts: [{ name: 'c', context: { cluster: 'c', user: 'u' } }],
      clusters: [{ name: 'c', cluster }],
      users: [{ name: 'u', user: { exec: program } }],
    }),
  )
  const transport = createTransport(await loadKubeconfig(place('config')))
  t.teardown(() => transport.close())
  return {
    cluster,
    refused,
    print: (printed: unknown) => writeFileSync(place('printed'), JSON.stringify(printed)),
    runs: () => readFileSync(place('runs'), 'utf8').trimEnd().split('\n').filter(Boolean),
    ask: async (signal?: AbortSignal) => {
      const answer = await transport.send({ method: 'GET', path: '/', ...(signal && { signal }) })
      let text = ''
      for await (const chunk of answer) text += chunk
      return text
    },
  }
}
const printed = (status: object) => ({ apiVersion: v1, kind: 'ExecCredential', status })

t.test(
  'a program of a kubeconfig is run once, and again when it says so or is refused',
  async (t) => {
    const { print, runs, ask, refused } = await start(t)
    print(printed({ token: 'one' }))
    t.same(await Promise.all([ask(), ask()]), ['undefined Bearer one', 'undefined Bearer one'])
    const told = '{"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1",'
    t.same(runs(), [`--now mine ${told}"spec":{"interactive":false}}`])
    refused.add('Bearer one')
    print(printed({ token: 'two', expirationTimestamp: '2001-01-01T00:00:00Z' }))
    t.equal(await ask(), 'undefined Bearer one', 'the answer is that to the old ones')
    t.equal(runs().length, 2)
    print(printed({ token: 'three' }))
    t.equal(await ask(), 'undefined Bearer three', 'two has expired')
    t.equal(await ask(), 'undefined Bearer three')
    t.equal(runs().length, 3)
  },
)

t.test('certificates of a program are shown, new ones on new connections', async (t) => {
  const { print, ask, cluster, runs } = await start(t, { provideClusterInfo: true })
  const print1 = (name: string, more: object = {}) => {
    const { certPem, keyPem } = issued('client', name)
    print(printed({ clientCertificateData: certPem, clientKeyData: keyPem, ...more }))
  }
  print1('ada', { expirationTimestamp: '2001-01-01T00:00:00Z' })
  t.equal(await ask(), 'ada ')
  print1('bob')
  t.equal(await ask(), 'bob ')
  const { extensions, ...shown } = cluster
  t.same(JSON.parse(runs()[0]!.replace('--now mine ', '')).spec.cluster, {
    ...shown,
    config: { realm: 'r' },
  })
})

t.test('what is wrong with a program is told', async (t) => {
  const { print, ask } = await start(t)
  const failsWith = (printedText: unknown, message: string) => {
    print(printedText)
    return t.rejects(ask(), { message: `getting credentials: ${message}` })
  }
  await failsWith(
    { ...printed({ token: 'x' }), apiVersion: 'client.authentication.k8s.io/v1beta1' },
    `exec plugin is configured to use API version ${v1}, plugin returned version client.authentication.k8s.io/v1beta1`,
  )
  await failsWith({ ...printed({}), status: null }, "exec plugin didn't return a status field")
  await failsWith(printed({}), "exec plugin didn't return a token or cert/key pair")
  await failsWith(
    printed({ clientCertificateData: 'x' }),
    'exec plugin returned only certificate or key, not both',
  )
  await failsWith(
    printed({ clientCertificateData: 'x', clientKeyData: 'y' }),
    'failed parsing client key/certificate: tls: failed to find any PEM data in certificate input',
  )
})

t.test('a program that fails is told with its exit code', async (t) => {
  const { ask } = await start(t, { env: [{ name: 'CODE', value: '3' }] })
  await t.rejects(ask(), {
    message: /^getting credentials: exec: executable \/.*login failed with exit code 3$/,
  })
})

t.test('who no longer wants an answer waits for no program', async (t) => {
  const { ask, runs } = await start(t, { args: ['--now'], env: [{ name: 'WAIT', value: '600' }] })
  const stop = new AbortController()
  const asked = ask(stop.signal)
  await eventually('it runs', () => runs().length === 1)
  stop.abort()
  await t.rejects(asked, { name: 'AbortError' })
})

t.test('a program that is not there is told with how to get it', async (t) => {
  const { ask } = await start(t, { command: 'no-such-login', installHint: 'Install it.' })
  await t.rejects(ask(), {
    message: 'getting credentials: exec: executable no-such-login not found\n\nInstall it.',
  })
})
