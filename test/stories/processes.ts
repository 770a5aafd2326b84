/** A cluster of real processes on level storage, each of which a test may kill and start again. */
import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { type Client, createClient } from '#client/client.js'
import { loadKubeconfig } from '#client/kubeconfig.js'
import { eventually } from '../eventually.js'
import { freePort } from '../free-port.js'
import { mainFile } from '../main-file.js'

/** `lost` is the kubelet of a second node, which one of the stories loses. */
export const processNames = [
  'server',
  'kubelet',
  'scheduler',
  'controller-manager',
  'lost',
] as const
export type ProcessName = (typeof processNames)[number]

interface ClusterOptions {
  /** Flags of Node for a process, e.g. a module to load first. */
  readonly nodeFlags?: Partial<Record<ProcessName, readonly string[]>>
  readonly flags?: Partial<Record<ProcessName, readonly string[]>>
  /** Socket of a container runtime for the kubelets; missing, Pods are processes. */
  readonly endpoint?: string | undefined
  /** Pods get accounts and tokens, and wait for those of their namespace. */
  readonly hasAccounts?: boolean
}

/** The variable by which the Pods' processes of one cluster are found. */
export const clusterVariable = 'STORY_CLUSTER'

interface PodProcess {
  readonly pid: number
  /** `namespace/name` */
  readonly pod: string
  readonly uid: string
}

const isZombie = (pid: string): boolean => {
  const stat = readFileSync(`/proc/${pid}/stat`, 'latin1')
  return stat[stat.lastIndexOf(')') + 2] === 'Z'
}

export class ClusterProcesses {
  readonly folder = mkdtempSync(path.join(tmpdir(), 'kubelevel-stories-'))
  readonly #options: ClusterOptions
  readonly #children = new Map<ProcessName, ChildProcess>()
  #output = ''
  #port = 0
  #client: Client | undefined

  constructor(options: ClusterOptions = {}) {
    this.#options = options
  }

  /** Pods are containers, of the image that test/kubelet/containerd.ts makes. */
  get isContainerized(): boolean {
    return this.#options.endpoint !== undefined
  }
  get client(): Client {
    return this.#client!
  }
  get kubeconfig(): string {
    return path.join(this.folder, 'kubeconfig')
  }
  /** What the processes have printed. */
  get output(): string {
    return this.#output
  }
  pidOf(name: ProcessName): number {
    return this.#children.get(name)!.pid!
  }
  runs(name: ProcessName): boolean {
    return this.#children.has(name)
  }

  /** Resolves when the server answers; the others come in their time. */
  async start(names: readonly ProcessName[]): Promise<void> {
    this.#port = await freePort()
    this.launch('server')
    await eventually('the server', () => this.#output.includes('ready https'))
    this.#client = createClient(await loadKubeconfig(this.kubeconfig), 'story')
    for (const name of names) if (name !== 'server') this.launch(name)
  }

  launch(name: ProcessName): void {
    const { nodeFlags = {}, flags = {} } = this.#options
    const args = [...(nodeFlags[name] ?? []), mainFile, ...this.#argsOf(name)]
    const child = spawn(process.execPath, [...args, ...(flags[name] ?? [])], {
      cwd: this.folder,
      // By the channel it learns when the test was killed, and ends too.
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    })
    const collect = (chunk: Buffer) => (this.#output += chunk)
    child.stdout!.on('data', collect)
    child.stderr!.on('data', collect)
    this.#children.set(name, child)
    child.once('exit', (code, signal) => {
      if (this.#children.get(name) !== child) return
      this.#children.delete(name)
      this.#output += `${name} ended by itself: ${signal ?? code}\n`
    })
  }

  #argsOf(name: ProcessName): string[] {
    const { folder, kubeconfig } = this
    const { endpoint, hasAccounts = false } = this.#options
    if (name === 'server') {
      return [
        'serve',
        `--secure-port=${this.#port}`,
        `--data-dir=${path.join(folder, 'data')}`,
        `--kubeconfig-out=${kubeconfig}`,
        ...(hasAccounts ? [] : ['--disable-admission-plugins=ServiceAccount']),
      ]
    }
    const common = ['--kubeconfig', kubeconfig]
    if (name === 'scheduler' || name === 'controller-manager') return [name, ...common]
    return [
      'kubelet',
      ...common,
      '--node-name',
      name === 'lost' ? 'node-lost' : 'node-1',
      '--root-dir',
      path.join(folder, name),
      '--pod-cidr=none',
      ...(endpoint ? ['--container-runtime-endpoint', endpoint] : []),
    ]
  }

  /** Resolves when it is gone; false: it did not run. */
  async end(name: ProcessName, signal: NodeJS.Signals = 'SIGKILL'): Promise<boolean> {
    const child = this.#children.get(name)
    if (!child) return false
    this.#children.delete(name)
    const gone = new Promise((resolve) => child.once('exit', resolve))
    child.kill(signal)
    await gone
    return true
  }

  /** Ends all, the kubelets first and with their Pods, and says what is left of them. */
  async close(): Promise<string[]> {
    await Promise.all((['kubelet', 'lost'] as const).map((name) => this.end(name, 'SIGTERM')))
    for (const name of processNames) await this.end(name)
    this.#client?.close()
    const left = this.podProcesses().map(({ pid, pod }) => `${pid} ${pod}`)
    rmSync(this.folder, { recursive: true, force: true })
    return left
  }

  /** The live processes of this cluster's Pods, by what they carry in their environment. */
  podProcesses(): PodProcess[] {
    const found: PodProcess[] = []
    const mark = `${clusterVariable}=${this.folder}\0`
    for (const pid of readdirSync('/proc')) {
      if (!/^\d+$/.test(pid)) continue
      try {
        const environment = readFileSync(`/proc/${pid}/environ`, 'latin1')
        if (!environment.includes(mark) || isZombie(pid)) continue
        const value = (name: string) => new RegExp(`(?:^|\0)${name}=([^\0]*)`).exec(environment)![1]
        found.push({
          pid: Number(pid),
          pod: `${value('STORY_NAMESPACE')}/${value('STORY_POD')}`,
          uid: value('STORY_UID')!,
        })
      } catch {
        // It has just ended.
      }
    }
    return found
  }
}
