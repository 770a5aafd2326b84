/** A real API server with its etcd, a real kubelet and one of this checkout, each kubelet with a containerd of its own. */
import { generateKeyPairSync } from 'node:crypto'
import { mkdirSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { freePort } from '../free-port.js'
import { startContainerd } from '../kubelet/containerd.js'
import { ask, type Target } from '../sweep/target.js'
import { Daemon } from './daemon.js'
import { adminOf, isNodeReady, openPlace, ourSide, type Place, writeKubeconfig } from './place.js'

interface Programs {
  readonly apiserver: string
  readonly etcd: string
  readonly kubelet: string
}

const etcdOf = async (file: string, folder: string) => {
  const url = `http://127.0.0.1:${await freePort()}`
  const peers = `http://127.0.0.1:${await freePort()}`
  const args = [
    '--unsafe-no-fsync',
    `--data-dir=${folder}/etcd`,
    `--initial-cluster=default=${peers}`,
  ]
  for (const which of ['listen', 'advertise']) args.push(`--${which}-client-urls=${url}`)
  for (const which of ['listen', 'initial-advertise']) args.push(`--${which}-peer-urls=${peers}`)
  const isUp = async () =>
    (await ask({ url, token: '' }, { method: 'GET', path: '/health' })).code === 200
  return { url, daemon: new Daemon({ file, args, log: `${folder}/etcd.log`, isUp }) }
}

const serverOf = async (file: string, folder: string, etcdUrl: string) => {
  const port = await freePort()
  const target: Target = { url: `https://127.0.0.1:${port}`, token: 'admintoken' }
  const key = `${folder}/sa.key`
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  writeFileSync(key, privateKey.export({ type: 'pkcs8', format: 'pem' }), { mode: 0o600 })
  const tokens = `${folder}/tokens.csv`
  writeFileSync(tokens, `${target.token},admin,admin-uid,system:masters\n`, { mode: 0o600 })
  const args = [
    ...[`--etcd-servers=${etcdUrl}`, `--secure-port=${port}`, '--bind-address=127.0.0.1'],
    ...[`--cert-dir=${folder}/certs`, `--token-auth-file=${tokens}`, '--authorization-mode=RBAC'],
    ...['--allow-privileged', '--service-cluster-ip-range=10.0.0.0/24'],
    ...['--service-account-issuer=https://kubernetes.default.svc.cluster.local'],
    ...[`--service-account-key-file=${key}`, `--service-account-signing-key-file=${key}`],
    '--disable-admission-plugins=ServiceAccount',
  ]
  const isUp = async () => (await ask(target, { method: 'GET', path: '/readyz' })).code === 200
  return { target, daemon: new Daemon({ file, args, log: `${folder}/apiserver.log`, isUp }) }
}

/** The first waits for the second, and both for the work. */
const inPairs = (work: (seconds: number) => Promise<void>) => {
  let first: { meet(): void; done: Promise<void> } | undefined
  return (seconds: number): Promise<void> => {
    const other = first
    first = undefined
    other?.meet()
    if (other) return other.done
    let meet = (): void => {}
    const done = new Promise<void>((resolve) => (meet = resolve)).then(() => work(seconds))
    first = { meet, done }
    return done
  }
}

const name = 'against'

const kubeletConfigOf = async (folder: string, containerRuntimeEndpoint: string) => ({
  apiVersion: 'kubelet.config.k8s.io/v1beta1',
  kind: 'KubeletConfiguration',
  address: '127.0.0.1',
  port: await freePort(),
  readOnlyPort: 0,
  healthzPort: await freePort(),
  authentication: { anonymous: { enabled: true }, webhook: { enabled: false } },
  authorization: { mode: 'AlwaysAllow' },
  cgroupDriver: 'cgroupfs',
  cgroupRoot: '/',
  enforceNodeAllocatable: [],
  failSwapOn: false,
  failCgroupV1: false,
  containerRuntimeEndpoint,
  podLogsDir: `${folder}/${name}-logs`,
  evictionHard: { 'memory.available': '1Mi' },
  imageGCHighThresholdPercent: 99,
  imageGCLowThresholdPercent: 98,
  clusterDNS: ['10.0.0.10'],
  clusterDomain: 'cluster.local',
})

/** In an empty folder. Ends nothing when it fails: the caller ends what `endings` has. */
export const startReference = async (
  { apiserver, etcd, kubelet }: Programs,
  folder: string,
  endings: (() => unknown)[],
): Promise<Place> => {
  mkdirSync(folder, { recursive: true })
  const containerds = [await startContainerd(), await startContainerd()] as const
  endings.unshift(async () => {
    for (const one of containerds) await one.stop()
  })
  const store = await etcdOf(etcd, folder)
  const server = await serverOf(apiserver, folder, store.url)
  for (const { daemon } of [store, server]) {
    endings.unshift(() => daemon.stop('SIGKILL'))
    await daemon.start()
  }
  const kubeconfig = writeKubeconfig(server.target, folder)
  const client = adminOf(server.target)
  const config = `${folder}/kubelet.json`
  writeFileSync(config, JSON.stringify(await kubeletConfigOf(folder, containerds[0].endpoint)))
  const against = new Daemon({
    file: kubelet,
    args: [
      ...[`--kubeconfig=${kubeconfig}`, `--config=${config}`],
      ...[`--root-dir=${path.join(folder, name)}`, `--hostname-override=${name}`, '--v=3'],
    ],
    log: `${folder}/${name}.log`,
    isUp: () => isNodeReady(client, name),
  })
  const flags = [
    '--container-runtime-endpoint',
    containerds[1].endpoint,
    '--cluster-dns',
    '10.0.0.10',
  ]
  const { place, close } = await openPlace({
    client,
    folder,
    serverAway: inPairs(async (seconds) => {
      await server.daemon.stop('SIGKILL')
      await sleep(seconds * 1_000)
      await server.daemon.start()
    }),
    ours: ourSide('ours', { client, folder, kubeconfig, flags: [...flags, '-v', '2'] }),
    against: { name, kubelet: against },
  })
  endings.unshift(close)
  return place
}
