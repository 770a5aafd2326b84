/**
 * Containers as process groups on this host: nothing to install, no images, no isolation. The files of shim.ts are the
 * source of truth; this keeps them in memory and reports changes.
 */
import { randomBytes } from 'node:crypto'
import { type FSWatcher, statSync, watch } from 'node:fs'
import net from 'node:net'
import path from 'node:path'
import { type Duplex, Readable } from 'node:stream'
import type { Clock } from '#api/clock.js'
import { type LogSource, readLog } from '../../log-reader.js'
import {
  type Container,
  type ContainerConfig,
  type ContainerRuntime,
  type ContainerUsage,
  type DiskUsage,
  type LogOptions,
  type Sandbox,
  type SandboxConfig,
  type Session,
  type SessionOptions,
  StartError,
  type Stop,
  type StopOptions,
} from '../../runtime.js'
import { diskUsageOf } from '../../volumes/disk-usage.js'
import { pauseCommand, wrapOddNames } from './container-command.js'
import { ContainerFiles } from './container-files.js'
import { inputFile, startInput } from './container-input.js'
import { findCommand } from './find-command.js'
import { LogTimes } from './log-times.js'
import { claimRange, pickAddress } from './pod-address.js'
import { ProcessContainer } from './process-container.js'
import { bootId, environmentOf, markerName } from './process-table.js'
import { ProcessUsage } from './process-usage.js'
import { attachSession, killMarked, startSession } from './session.js'
import { newSession, startShim, writeShim } from './shim.js'
import { stopProcess } from './stop-container.js'
import { Sweeper } from './sweeper.js'
import { inTerminal } from './terminal.js'
import { WithoutImages } from './without-images.js'
import { withOwnFiles } from './work-folder.js'

/** Changes come from a watch on one folder; this is how often it is checked that none was missed. */
const relistIntervalMs = 2_000
/** How soon a followed log notices that its container has ended. */
const endedIntervalMs = 100
const following: LogOptions = {
  follow: true,
  timestamps: false,
  tailLines: undefined,
  sinceTime: undefined,
  limitBytes: undefined,
}

interface ProcessRuntimeOptions {
  readonly root: string
  readonly clock: Clock
  /** PATH, HOME and the like, for containers that do not set them. */
  readonly baseEnv: Readonly<Record<string, string>>
  /** Range of Pod addresses, `none` for the node's own. */
  readonly podCidr: string
  readonly nodeAddress: string
}

export class ProcessRuntime extends WithoutImages implements ContainerRuntime {
  readonly name = 'process'
  readonly version = '1.0.0'

  readonly #options: ProcessRuntimeOptions
  readonly #files: ContainerFiles
  readonly #times: LogTimes
  readonly #shim: string
  readonly #session: readonly string[]
  readonly #bootId = bootId()
  readonly #containers = new Map<string, ProcessContainer>()
  readonly #byPod = new Map<string, Set<string>>()
  readonly #sandboxes = new Map<string, Sandbox>()
  readonly #addresses = new Set<string>()
  readonly #sweeper = new Sweeper()
  readonly #usage = new ProcessUsage()
  #ownAddresses = false
  #closed = false
  #watcher: FSWatcher | undefined
  #relist: NodeJS.Timeout | undefined
  #onChange: (podUid: string) => void = () => {}

  constructor(options: ProcessRuntimeOptions) {
    super()
    this.#options = options
    this.#files = new ContainerFiles(options.root)
    this.#times = new LogTimes(this.#files.logs, options.clock)
    this.#shim = path.join(options.root, 'shim.sh')
    writeShim(this.#shim)
    this.#session = newSession()
  }

  async open(onChange: (podUid: string) => void): Promise<void> {
    this.#onChange = onChange
    const { podCidr } = this.#options
    this.#ownAddresses = podCidr !== 'none' && claimRange(podCidr)
    this.#watcher = watch(this.#files.state, (_, file) => {
      const [id, suffix] = file?.split('.') ?? []
      if (id && (suffix === 'pid' || suffix === 'exit')) this.#refresh(id)
    })
    for (const sandbox of this.#files.readSandboxes()) this.#addSandbox(sandbox)
    const starting: Promise<void>[] = []
    for (const record of this.#files.records()) {
      // A container that was never started never will be: its shim finds the claim taken.
      if (this.#files.claim(record.id)) {
        this.#files.removeAllButClaim(record.id)
        continue
      }
      const container = this.#add(new ProcessContainer(record, this.#files))
      if (record.bootId !== this.#bootId) this.#lose(record.id)
      container.refresh()
      starting.push(this.#untilStarted(container))
    }
    this.#files.removeOldClaims(this.#options.clock.now())
    this.#times.open(this.#containers.keys())
    killMarked((id) => this.#containers.get(id)?.exited === true)
    this.#relist = setInterval(() => this.#checkAll(), relistIntervalMs)
    this.#relist.unref()
    this.#checkAll()
    // Until then nobody could end them, and others would be started in their place.
    await Promise.all(starting)
  }

  async close(): Promise<void> {
    this.#closed = true
    clearInterval(this.#relist)
    this.#watcher?.close()
    this.#times.close()
  }

  sandboxes(): readonly Sandbox[] {
    return [...this.#sandboxes.values()]
  }
  sandboxesOf(podUid: string): readonly Sandbox[] {
    return this.sandboxes().filter(({ pod }) => pod.uid === podUid)
  }
  containers(): readonly Container[] {
    return [...this.#containers.values()].map(({ view }) => view)
  }
  containersOf(podUid: string): readonly Container[] {
    const ids = this.#byPod.get(podUid) ?? []
    return [...ids]
      .map((id) => this.#containers.get(id)!.view)
      .sort((a, b) => a.createdAt - b.createdAt || a.attempt - b.attempt)
  }

  async runSandbox(config: SandboxConfig): Promise<Sandbox> {
    const { podCidr, nodeAddress, clock } = this.#options
    const own =
      this.#ownAddresses && config.security.namespaces.network === 'pod'
        ? pickAddress(podCidr, config.pod.uid, (address) => this.#addresses.has(address))
        : undefined
    const sandbox: Sandbox = {
      id: randomBytes(16).toString('hex'),
      pod: config.pod,
      attempt: config.attempt,
      ready: true,
      ips: [own ?? nodeAddress],
      createdAt: clock.now(),
    }
    this.#files.writeSandbox(sandbox)
    this.#addSandbox(sandbox)
    return sandbox
  }

  async stopSandbox(id: string): Promise<void> {
    const sandbox = this.#sandboxes.get(id)
    if (!sandbox?.ready) return
    const stopped = { ...sandbox, ready: false }
    this.#files.writeSandbox(stopped)
    this.#sandboxes.set(id, stopped)
  }

  async removeSandbox(id: string): Promise<void> {
    const sandbox = this.#sandboxes.get(id)
    if (!sandbox) return
    this.#sandboxes.delete(id)
    for (const address of sandbox.ips) this.#addresses.delete(address)
    this.#files.removeSandbox(id)
  }

  async createContainer(
    sandbox: Sandbox,
    config: ContainerConfig,
    { hostname }: SandboxConfig,
  ): Promise<string> {
    const id = randomBytes(16).toString('hex')
    const { env, security: _, ...rest } = config
    const record = {
      id,
      sandboxId: sandbox.id,
      pod: sandbox.pod,
      config: rest,
      createdAt: this.#options.clock.now(),
      bootId: this.#bootId,
    }
    this.#files.make(record)
    const container = this.#add(new ProcessContainer(record, this.#files))
    const own = withOwnFiles(config.mounts)
    container.env = {
      ...this.#options.baseEnv,
      HOSTNAME: hostname,
      ...Object.fromEntries(env.map(([name, value]) => [name, own(value)])),
      CONTAINER_ROOT: this.#files.workFolder(id),
      [markerName]: id,
    }
    return id
  }

  async startContainer(id: string): Promise<void> {
    const container = this.#find(id)
    const { config } = container.record
    const words = [...config.command, ...config.args].map(withOwnFiles(config.mounts))
    const command = config.command.length === 0 ? pauseCommand : words
    const workingDir = config.workingDir ?? this.#files.workFolder(id)
    const env = container.env ?? {}
    try {
      findCommand(command[0], env.PATH ?? '', workingDir)
    } catch (error) {
      this.#failStart(id, (error as Error).message)
      throw error
    }
    const main = config.tty ? inTerminal(command) : command
    const failed = new Promise<never>((_, reject) => {
      const shim = {
        shim: this.#shim,
        state: this.#files.prefix(id),
        log: this.#files.log(id),
        input: inputFile(this.#files.prefix(id), config),
        command: [...this.#session, ...main],
        env: wrapOddNames(env),
        workingDir,
      }
      startShim(shim, (error) => {
        // Before it is seen that the container is not what it was: that would pass for a start.
        reject(new StartError('RunContainerError', error.message))
        this.#failStart(id, error.message)
      })
    })
    await Promise.race([failed, this.#untilStarted(container)])
  }

  #untilStarted(container: ProcessContainer): Promise<void> {
    const { id } = container.record
    return container.untilStarted(() => {
      // The next kubelet waits for it by then.
      if (!this.#closed) this.#failStart(id, 'the container did not start in time')
    })
  }

  /** No shim may come any more; one that has come is ended with what it has started. */
  #failStart(id: string, message: string): void {
    this.#files.claim(id)
    this.#files.writeExit(id, 128, 'StartError', message)
    this.#refresh(id)
  }

  /** Processes of the host are held to no resources. */
  async updateContainer(): Promise<void> {}

  stopContainer(id: string, options: StopOptions): Stop {
    const container = this.#containers.get(id)
    if (!container) return { done: Promise.resolve(), shorten: () => {} }
    if (options.halted && !container.exited) this.#files.markHalted(id)
    const stop = stopProcess(container, options)
    return { ...stop, done: stop.done.then(() => this.#sweeper.sweep(id)) }
  }

  async removeContainer(id: string): Promise<void> {
    const container = this.#containers.get(id)
    if (!container) return
    this.#containers.delete(id)
    const { uid } = container.record.pod
    const ids = this.#byPod.get(uid)
    ids?.delete(id)
    if (ids?.size === 0) this.#byPod.delete(uid)
    this.#times.forget(id)
    this.#files.remove(id)
  }

  connect({ ips }: Sandbox, port: number): Duplex {
    return net.connect({ host: ips[0]!, port, allowHalfOpen: true })
  }

  exec(id: string, command: readonly string[], options: SessionOptions): Session {
    const container = this.#find(id)
    if (container.view.state !== 'running') {
      throw new StartError('ContainerNotRunning', `container ${id} is not running`)
    }
    const { config } = container.record
    const workingDir = config.workingDir ?? this.#files.workFolder(id)
    const env = container.env ?? environmentOf(container.view.pid) ?? { ...this.#options.baseEnv }
    const words = command.map(withOwnFiles(config.mounts))
    findCommand(words[0] ?? '', env.PATH ?? '', workingDir)
    return startSession({ containerId: id, command: words, env, workingDir }, options)
  }

  attach(id: string, { stdin }: SessionOptions): Session {
    const container = this.#find(id)
    const ended = new AbortController()
    const file = container.view.logPath
    const offset = statSync(file, { throwIfNoEntry: false })?.size ?? 0
    const log = readLog({ ...this.#logSource(id, file), offset }, following, ended.signal)
    const output = Readable.from(log, { objectMode: false })
    return attachSession(output, stdin ? startInput(this.#files.prefix(id)) : undefined, {
      done: container.until(() => container.exited),
      resize: (columns, rows) => container.resize(columns, rows),
      letGo: () => ended.abort(),
    })
  }

  logs(container: Container, options: LogOptions, signal: AbortSignal): AsyncIterable<Buffer> {
    return readLog(this.#logSource(container.id, container.logPath), options, signal)
  }

  #logSource(id: string, file: string): LogSource {
    const ended = () => this.#containers.get(id)?.exited ?? true
    return {
      file,
      marks: (from) => this.#times.marks(id, from),
      ended,
      onChange: (listener) => {
        const off = this.#times.onGrowth(id, listener)
        // The end of a container is no change of its log; nor is its removal.
        const timer = setInterval(() => ended() && listener(), endedIntervalMs)
        return () => {
          off()
          clearInterval(timer)
        }
      },
    }
  }

  async usage(): Promise<ReadonlyMap<string, ContainerUsage>> {
    return this.#usage.read()
  }

  /** The folder that a container works in stands for its root. */
  async writtenFiles(ids: readonly string[]): Promise<ReadonlyMap<string, DiskUsage>> {
    const usages = new Map<string, DiskUsage>()
    for (const id of ids) usages.set(id, await diskUsageOf(this.#files.workFolder(id)))
    return usages
  }

  #find(id: string): ProcessContainer {
    const container = this.#containers.get(id)
    if (!container) throw new StartError('ContainerNotFound', `container ${id} not found`)
    return container
  }

  #add(container: ProcessContainer): ProcessContainer {
    const { id, pod } = container.record
    this.#containers.set(id, container)
    const ids = this.#byPod.get(pod.uid) ?? new Set()
    this.#byPod.set(pod.uid, ids.add(id))
    return container
  }

  #addSandbox(sandbox: Sandbox): void {
    this.#sandboxes.set(sandbox.id, sandbox)
    for (const address of sandbox.ips) this.#addresses.add(address)
  }

  #refresh(id: string): void {
    const container = this.#containers.get(id)
    if (!container?.refresh()) return
    if (container.exited) void this.#sweeper.sweep(id)
    this.#onChange(container.record.pod.uid)
  }

  /** The end is unknown: upstream's ContainerStatusUnknown. */
  #lose(id: string): void {
    this.#files.writeExit(
      id,
      137,
      'ContainerStatusUnknown',
      'The container could not be located when the pod was terminated',
    )
  }

  #checkAll(): void {
    for (const [id, container] of this.#containers) {
      if (container.exited || (container.view.state === 'created' && !container.starting)) continue
      this.#refresh(id)
      if (!container.isLost()) continue
      // Its shim may have written the end meanwhile.
      this.#refresh(id)
      if (container.exited) continue
      this.#lose(id)
      this.#refresh(id)
    }
  }
}
