/** controller-runtime's envtest starts an etcd and a kube-apiserver by these names, with these flags: it gets kubelevel. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { chmodSync, existsSync, readdirSync, symlinkSync } from 'node:fs'
import http from 'node:http'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'
import { createClient } from '#client/client.js'
import { resources } from '#client/resources.js'
import { issueCertificate } from '#net/x509.js'
import { packageRoot } from '#program/package-root.js'
import { eventually } from '../eventually.js'
import { freePort } from '../free-port.js'

const main = fileURLToPath(new URL('dist/bundle/main.js', packageRoot))
const skip = !existsSync(main) && 'npm run build has made no bundle'

const life = { notBeforeMs: Date.now() - 60_000, notAfterMs: Date.now() + 86_400_000 }
const authority = (commonName: string) =>
  issueCertificate({ ...life, use: 'authority', subject: { commonName } })
const servers = authority('envtest-environment')
const users = authority('envtest-environment')
const serving = issueCertificate({
  ...life,
  use: 'server',
  subject: { commonName: 'localhost' },
  names: ['localhost', '127.0.0.1'],
  issuer: servers,
})
const admin = issueCertificate({
  ...life,
  use: 'client',
  subject: { commonName: 'envtest-admin', organizations: ['system:masters'] },
  issuer: users,
})

const isHealthy = (url: string): Promise<boolean> =>
  new Promise((resolve) =>
    http
      .get(`${url}/health`, (answer) => resolve(answer.resume().statusCode === 200))
      .once('error', () => resolve(false)),
  )

/** As fabric8's kube-api-test starts them: flag and value are two words. */
const inWords = (flags: string[]): string[] =>
  flags.flatMap((flag) => (flag.endsWith('=true') ? flag.replace('=true', '') : flag.split('=')))

const playControlPlane = async (t: Test, written: (flags: string[]) => string[]) => {
  const printed = spawnSync(process.execPath, [main, 'envtest'], { encoding: 'utf8' }).stdout
  const standIn = (name: string): string => path.join(printed.trim(), name)
  const folder = t.testdir({
    cwd: {},
    certs: {
      'apiserver.crt': serving.certPem,
      'apiserver.key': serving.keyPem,
      'client-cert-auth-ca.crt': users.certPem,
      'sa-signer.crt': serving.certPem,
      'sa-signer.key': serving.keyPem,
    },
  })
  const cwd = path.join(folder, 'cwd')
  const certs = path.join(folder, 'certs')
  const start = (name: string, flags: string[]): ChildProcess => {
    const child = spawn(standIn(name), written(flags), { cwd, stdio: 'ignore' })
    t.teardown(() => child.kill('SIGKILL'))
    return child
  }
  const etcdUrl = `http://127.0.0.1:${await freePort()}`
  const etcd = start('etcd', [
    `--advertise-client-urls=${etcdUrl}`,
    `--listen-client-urls=${etcdUrl}`,
    '--listen-peer-urls=http://localhost:0',
    '--unsafe-no-fsync=true',
  ])
  await eventually('etcd is well', () => isHealthy(etcdUrl))

  const { stdout: help } = spawnSync(standIn('kube-apiserver'), ['--help'], { encoding: 'utf8' })
  t.match(help, '--secure-port')
  t.notMatch(help, '--insecure-port', 'which envtest would have to turn off')

  const port = await freePort()
  const apiserver = start('kube-apiserver', [
    '--allow-privileged=true',
    '--authorization-mode=RBAC',
    '--bind-address=127.0.0.1',
    `--cert-dir=${certs}`,
    `--client-ca-file=${certs}/client-cert-auth-ca.crt`,
    '--disable-admission-plugins=ServiceAccount',
    `--etcd-servers=${etcdUrl}`,
    `--secure-port=${port}`,
    `--service-account-issuer=https://127.0.0.1:${port}/`,
    `--service-account-key-file=${certs}/sa-signer.crt`,
    `--service-account-signing-key-file=${certs}/sa-signer.key`,
    '--service-cluster-ip-range=10.0.0.0/24',
  ])
  const client = createClient({
    server: `https://127.0.0.1:${port}`,
    namespace: 'default',
    ca: servers.certPem,
    cert: admin.certPem,
    key: admin.keyPem,
  })
  t.teardown(() => client.close())
  const at = { namespace: 'default', name: 'a' }
  await eventually('its default namespace', () =>
    client.get(resources.namespaces, { name: 'default' }).catch(() => undefined),
  )
  await client.create(resources.configMaps, { metadata: at, data: { k: 'v' } })
  t.match(await client.get(resources.configMaps, at), { data: { k: 'v' } })
  t.same(readdirSync(cwd), [], 'nothing is left where the tests run')

  for (const child of [apiserver, etcd]) {
    const ended = new Promise((resolve) => child.once('exit', resolve))
    child.kill('SIGTERM')
    await ended
  }
}

t.test('a control plane is started, used and stopped as envtest does it', { skip }, (t) =>
  playControlPlane(t, (flags) => flags),
)

t.test('flags and values may be words of their own', { skip }, (t) => playControlPlane(t, inWords))

t.test(
  'links to the folder and to its files do as well, and tell the version of Kubernetes',
  {
    skip,
  },
  (t) => {
    const folder = fileURLToPath(new URL('envtest', packageRoot))
    const links = path.join(t.testdir({ each: {} }), 'each')
    const version = '1.36.3-linux-amd64'
    symlinkSync(folder, path.join(links, version))
    symlinkSync(path.join(folder, 'kube-apiserver'), path.join(links, 'kube-apiserver'))
    for (const place of [folder, path.join(links, version), links])
      t.match(
        spawnSync(path.join(place, 'kube-apiserver'), ['--version'], { encoding: 'utf8' }),
        { status: 0, stdout: /^Kubernetes v1\.36\.\d+\S*\n$/ },
        place,
      )
    t.end()
  },
)

t.test("KubectlPath is this machine's kubectl, wherever that folder stands on the PATH", (t) => {
  const folder = fileURLToPath(new URL('envtest', packageRoot))
  const dir = t.testdir({ bin: { kubectl: '#!/bin/sh\nprintf "%s\\n" "$@"\n' }, links: {} })
  const bin = path.join(dir, 'bin')
  const links = path.join(dir, 'links')
  chmodSync(path.join(bin, 'kubectl'), 0o755)
  symlinkSync(path.join(folder, 'kubectl'), path.join(links, 'kubectl'))
  const run = (...folders: string[]) =>
    spawnSync(path.join(folder, 'kubectl'), ['get', 'a b'], {
      encoding: 'utf8',
      timeout: 60_000,
      env: { PATH: [...folders, '/nowhere'].join(path.delimiter) },
    })
  t.match(run(folder, bin), { status: 0, stdout: 'get\na b\n' })
  t.match(run(bin, folder), { status: 0, stdout: 'get\na b\n' })
  t.match(run(links, folder, bin), { status: 0, stdout: 'get\na b\n' }, 'a link to it is it')
  t.match(run(folder), { status: 127, stderr: 'kubectl is not installed' })
  t.end()
})
