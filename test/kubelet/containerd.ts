/** A containerd of the test's own: its folders, its network, and one image made here from a static busybox. */
import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { CriClient } from '#kubelet/runtime/cri/cri-client.js'
import { eventually } from '../eventually.js'
import { processesWith } from './node.js'

export const busybox = ['/bin/busybox', '/usr/bin/busybox'].find((file) => existsSync(file))
const cniFolder = ['/usr/lib/cni', '/opt/cni/bin'].find((folder) => existsSync(`${folder}/bridge`))
const runs = (command: string) => spawnSync(command, ['--version']).status === 0

/** A reason to skip tests with a real container runtime, or false. */
export const containerdMissing: string | false =
  process.platform !== 'linux' || process.getuid?.() !== 0
    ? 'containers need root on Linux'
    : !runs('containerd') || !runs('runc')
      ? 'there is no containerd with runc here'
      : !cniFolder
        ? 'there are no CNI plugins here'
        : busybox && /statically linked|not a dynamic/.test(linkage(busybox))
          ? false
          : 'there is no static busybox here'

/** A reason to skip tests with images as volumes, or false. */
export const imageVolumesMissing = (): string | false => {
  if (containerdMissing) return containerdMissing
  const { stdout } = spawnSync('containerd', ['--version'], { encoding: 'utf8' })
  const [, major = 0, minor = 0] = / v?(\d+)\.(\d+)\./.exec(stdout)?.map(Number) ?? []
  const isNew = major > 2 || (major === 2 && minor > 0)
  return !isNew && `this containerd is older than 2.1: ${stdout.trim()}`
}

function linkage(file: string): string {
  const { stdout, stderr } = spawnSync('ldd', [file], { encoding: 'utf8' })
  return `${stdout}${stderr}`
}

export const imageName = 'kubelevel.test/busybox:1'
/** The same, run as somebody else: by number, and by name. */
export const userImageNames = { 1000: 'kubelevel.test/user:1', web: 'kubelevel.test/web:1' }
const applets = [
  'sh',
  'sleep',
  'cat',
  'echo',
  'true',
  'false',
  'httpd',
  'test',
  'touch',
  'hostname',
  'grep',
  'id',
  'ls',
  'mount',
  'readlink',
  'cmp',
  'mv',
  'tr',
]

/** A `docker save` archive of images with one layer. */
const makeImage = (folder: string): string => {
  const root = path.join(folder, 'rootfs')
  const image = path.join(folder, 'image')
  mkdirSync(path.join(root, 'bin'), { recursive: true })
  mkdirSync(path.join(root, 'tmp'))
  mkdirSync(path.join(root, 'etc'))
  writeFileSync(path.join(root, 'etc/passwd'), 'web:x:1001:1001::/:/bin/sh\n')
  writeFileSync(path.join(root, 'etc/group'), 'web:x:1001:\nextra:x:1002:web\n')
  mkdirSync(image)
  copyFileSync(busybox!, path.join(root, 'bin/busybox'))
  for (const name of applets) symlinkSync('busybox', path.join(root, 'bin', name))
  const layer = path.join(image, 'layer.tar')
  execFileSync('tar', ['-C', root, '-cf', layer, '.'])
  const digest = createHash('sha256').update(readFileSync(layer)).digest('hex')
  const architecture = process.arch === 'x64' ? 'amd64' : process.arch
  const manifest = Object.entries({ '': imageName, ...userImageNames }).map(([User, tag], i) => {
    const Config = `config-${i}.json`
    const config = {
      architecture,
      os: 'linux',
      config: { Env: ['PATH=/bin'], Cmd: ['sleep', '1000000'], User },
      rootfs: { type: 'layers', diff_ids: [`sha256:${digest}`] },
    }
    writeFileSync(path.join(image, Config), JSON.stringify(config))
    return { Config, RepoTags: [tag], Layers: ['layer.tar'] }
  })
  writeFileSync(path.join(image, 'manifest.json'), JSON.stringify(manifest))
  const archive = path.join(folder, 'image.tar')
  execFileSync('tar', ['-C', image, '-cf', archive, '.'])
  return archive
}

const configText = (folder: string): string => `version = 2
root = "${folder}/root"
state = "${folder}/state"
[grpc]
  address = "${folder}/containerd.sock"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "${imageName}"
  restrict_oom_score_adj = true
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "${cniFolder}"
    conf_dir = "${folder}/cni"
  [plugins."io.containerd.grpc.v1.cri".containerd]
    snapshotter = "native"
  [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
    runtime_type = "io.containerd.runc.v2"
`

/** A reason to skip tests with ports of the host, or false. */
const portsMissing: string | false =
  existsSync(`${cniFolder}/portmap`) && runs('iptables')
    ? false
    : 'there is no portmap plugin with iptables here'

/**
 * Those that run at once need a network each: of one /24 of the shared range (RFC 6598) per process a half. Not of the range for
 * benchmarks, which kubelets without containers route to themselves.
 */
const subnetPrefix = `100.${64 + ((process.pid >> 8) & 63)}.${process.pid & 255}.`
let started = 0

const networkOf = (folder: string, bridge: string, subnet: string): object => ({
  cniVersion: '0.4.0',
  name: bridge,
  plugins: [
    {
      type: 'bridge',
      bridge,
      isGateway: true,
      ipam: {
        type: 'host-local',
        dataDir: `${folder}/ipam`,
        ranges: [[{ subnet }]],
        routes: [{ dst: '0.0.0.0/0' }],
      },
    },
    ...(portsMissing ? [] : [{ type: 'portmap', capabilities: { portMappings: true } }]),
  ],
})

interface Listed {
  readonly images: readonly { readonly repo_tags: readonly string[] }[]
}

/** Whether kubelets are told of the images, too: that hears of them a moment after their import. */
const hasImages = async (endpoint: string): Promise<boolean> => {
  const cri = new CriClient(endpoint)
  try {
    const { images } = await cri.callImages<Listed>('ListImages', {})
    const tags = images.flatMap(({ repo_tags }) => repo_tags)
    return [imageName, ...Object.values(userImageNames)].every((name) => tags.includes(name))
  } catch {
    return false
  } finally {
    cri.close()
  }
}

/** A daemon that does not end in this time is killed. */
const stopMs = 10_000
/** The last container of a Pod is gone before its shim has ended. */
const shimsMs = 30_000

interface Containerd {
  readonly endpoint: string
  /** What the addresses of its Pods begin with. */
  readonly subnetPrefix: string
  readonly portsMissing: string | false
  stop(): Promise<void>
}

export const startContainerd = async (): Promise<Containerd> => {
  const folder = mkdtempSync(path.join(tmpdir(), 'kl-cri-'))
  const half = started++ % 2
  const bridge = `kl${process.pid}${'ab'[half]}`
  const subnet = `${subnetPrefix}${half * 128}/25`
  mkdirSync(path.join(folder, 'cni'))
  writeFileSync(path.join(folder, 'config.toml'), configText(folder))
  writeFileSync(
    path.join(folder, 'cni/10-test.conflist'),
    JSON.stringify(networkOf(folder, bridge, subnet)),
  )
  const child: ChildProcess = spawn('containerd', ['-c', path.join(folder, 'config.toml')], {
    stdio: 'ignore',
  })
  const socket = path.join(folder, 'containerd.sock')
  const ctr = (...args: string[]) => spawnSync('ctr', ['-a', socket, '-n', 'k8s.io', ...args])
  await eventually('containerd', () => existsSync(socket) && ctr('version').status === 0)
  const imported = ctr('images', 'import', makeImage(folder))
  if (imported.status !== 0) throw new Error(String(imported.stderr))
  const endpoint = `unix://${socket}`
  await eventually('its images', () => hasImages(endpoint))
  return {
    endpoint,
    subnetPrefix,
    portsMissing,
    stop: async () => {
      const shims = () => processesWith(folder).filter((line) => line.includes('containerd-shim'))
      await eventually('the end of shims', () => shims().length === 0, shimsMs).catch(() => {})
      if (child.exitCode === null && child.signalCode === null) {
        const gone = new Promise((resolve) => child.once('exit', resolve))
        child.kill('SIGTERM')
        const kill = setTimeout(() => child.kill('SIGKILL'), stopMs)
        await gone
        clearTimeout(kill)
      }
      spawnSync('ip', ['link', 'del', bridge])
      const left = processesWith(folder)
      if (left.length > 0) throw new Error(`left behind:\n${left.join('\n')}`)
      rmSync(folder, { recursive: true, force: true })
    },
  }
}
