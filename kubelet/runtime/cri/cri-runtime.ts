/**
 * Containers of a real container runtime (containerd, CRI-O) over its socket, with its images and its CNI network. The
 * runtime is the source of truth: it is asked once a second for everything on this node, as by upstream's PLEG.
 */
import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import type { Duplex } from 'node:stream'
import { status } from '@grpc/grpc-js'
import type { Clock } from '#api/clock.js'
import { sleep } from '#async/sleep.js'
import type { Log } from '#client/log.js'
import type { RpcError } from '../../grpc/rpc-client.js'
import { rotatedLog } from '../../rotated-log.js'
import {
  type Container,
  type ContainerConfig,
  type ContainerResources,
  type ContainerRuntime,
  type ContainerUsage,
  type DiskUsage,
  type LogOptions,
  type NodeFeatures,
  type NodeImage,
  type RegistryCredentials,
  type RuntimeHandler,
  type RuntimeImage,
  type Sandbox,
  type SandboxConfig,
  type Session,
  type SessionOptions,
  StartError,
  type Stop,
  type StopOptions,
} from '../../runtime.js'
import { CriClient } from './cri-client.js'
import { connectThroughCri } from './cri-forward.js'
import { CriImages } from './cri-images.js'
import { readCriLog } from './cri-log.js'
import { rotateLog } from './cri-log-rotation.js'
import {
  type CriContainer,
  type CriContainerStatus,
  type CriSandbox,
  containerConfigOf,
  labelNames,
  linuxResources,
  sandboxConfigOf,
  stateOf,
  toContainer,
  toSandbox,
} from './cri-objects.js'
import { refuseOwnUsers } from './cri-security.js'
import { startCriSession } from './cri-session.js'
import { readStats, usageIn, writtenIn } from './cri-stats.js'

const relistMs = 1_000
const logPollMs = 200
/** Upstream's containerLogMonitorInterval. */
const logCheckMs = 10_000

interface CriRuntimeOptions {
  /** As in `unix:///run/containerd/containerd.sock`. */
  readonly endpoint: string
  readonly root: string
  readonly clock: Clock
  readonly log: Log
  readonly nodeName: string
}

/** What the runtime lists no more is gone. */
const forgetOthers = (
  known: Map<string, Sandbox | Container>,
  rows: readonly { id: string }[],
  changed: Set<string>,
): void => {
  const listed = new Set(rows.map(({ id }) => id))
  for (const [id, { pod }] of known) {
    if (listed.has(id)) continue
    known.delete(id)
    changed.add(pod.uid)
  }
}

export class CriRuntime implements ContainerRuntime {
  name = 'containerd'
  version = ''
  features: NodeFeatures | undefined
  handlers: readonly RuntimeHandler[] = []
  readonly hasImages = true
  readonly #options: CriRuntimeOptions
  readonly #client: CriClient
  readonly #images: CriImages
  readonly #containers = new Map<string, Container>()
  readonly #sandboxes = new Map<string, Sandbox>()
  #onChange: (podUid: string) => void = () => {}
  #timer: NodeJS.Timeout | undefined
  readonly #closed = new AbortController()
  #relisting: Promise<void> | undefined
  #nextRelist: Promise<void> | undefined

  constructor(options: CriRuntimeOptions) {
    this.#options = options
    this.#client = new CriClient(options.endpoint)
    this.#images = new CriImages(this.#client)
    mkdirSync(path.join(options.root, 'halted'), { recursive: true, mode: 0o700 })
    mkdirSync(path.join(options.root, 'logs'), { recursive: true, mode: 0o700 })
  }

  async open(onChange: (podUid: string) => void): Promise<void> {
    Object.assign(this, await this.#client.describe())
    await this.#relist()
    this.#onChange = onChange
    this.#timer = setInterval(() => {
      this.#relist().catch((error) =>
        this.#options.log.warn({ error: error.message }, 'the container runtime does not answer'),
      )
    }, relistMs)
    this.#timer.unref()
    void this.#rotateLogs(this.#closed.signal)
  }

  /** Never rejects. */
  async #rotateLogs(closed: AbortSignal): Promise<void> {
    while (!closed.aborted) {
      for (const { id, state, logPath } of this.containers()) {
        if (state !== 'running' || logPath === '' || closed.aborted) continue
        const reopen = () => this.#client.call('ReopenContainerLog', { container_id: id })
        await rotateLog(logPath, reopen).catch((error) =>
          this.#options.log.warn({ id, error: error.message }, 'a log was not rotated'),
        )
      }
      await sleep(logCheckMs, closed, { ref: false })
    }
  }

  async close(): Promise<void> {
    clearInterval(this.#timer)
    this.#closed.abort()
    // Whoever started the relist handles its failure.
    await this.#relisting?.catch(() => {})
    this.#client.close()
  }

  sandboxes(): readonly Sandbox[] {
    return [...this.#sandboxes.values()]
  }
  sandboxesOf(podUid: string): readonly Sandbox[] {
    return this.sandboxes().filter(({ pod }) => pod.uid === podUid)
  }
  containers(): readonly Container[] {
    return [...this.#containers.values()]
  }
  containersOf(podUid: string): readonly Container[] {
    return this.containers()
      .filter(({ pod }) => pod.uid === podUid)
      .sort((a, b) => a.createdAt - b.createdAt || a.attempt - b.attempt)
  }

  async runSandbox(config: SandboxConfig, handler: string): Promise<Sandbox> {
    refuseOwnUsers(config.security, handler)
    const { nodeName } = this.#options
    const logFolder = this.#logFolder(config.pod.uid)
    mkdirSync(logFolder, { recursive: true, mode: 0o700 })
    const request = {
      config: sandboxConfigOf(config, { node: nodeName, logFolder }),
      runtime_handler: handler,
    }
    const { pod_sandbox_id: id } = await this.#client
      .call<{ pod_sandbox_id: string }>('RunPodSandbox', request)
      .catch((error: RpcError) => {
        throw new Error(error.goText)
      })
    await this.#relist()
    const sandbox = this.#sandboxes.get(id)
    if (!sandbox) throw new Error(`sandbox ${id} is gone`)
    return sandbox
  }
  async stopSandbox(id: string): Promise<void> {
    await this.#client.call('StopPodSandbox', { pod_sandbox_id: id })
    await this.#relist()
  }
  async removeSandbox(id: string): Promise<void> {
    const uid = this.#sandboxes.get(id)?.pod.uid
    await this.#client.call('StopPodSandbox', { pod_sandbox_id: id })
    await this.#client.call('RemovePodSandbox', { pod_sandbox_id: id })
    if (uid) rmSync(this.#logFolder(uid), { recursive: true, force: true })
    await this.#relist()
  }

  findImage(image: string): Promise<RuntimeImage | undefined> {
    return this.#images.find(image)
  }
  pullImage(image: string, credentials: RegistryCredentials | undefined, signal: AbortSignal) {
    return this.#images.pull(image, credentials, signal)
  }
  images(): Promise<readonly NodeImage[]> {
    return this.#images.list()
  }
  imageFolder(): Promise<string | undefined> {
    return this.#images.folder()
  }
  removeUnusedImages(ageMsMin: number): Promise<readonly string[]> {
    return this.#images.removeUnused(ageMsMin)
  }

  async createContainer(
    sandbox: Sandbox,
    config: ContainerConfig,
    podConfig: SandboxConfig,
  ): Promise<string> {
    const { pod } = sandbox
    const node = this.#options.nodeName
    const logFolder = this.#logFolder(pod.uid)
    const answer = await this.#client.call<{ container_id: string }>('CreateContainer', {
      pod_sandbox_id: sandbox.id,
      config: containerConfigOf(config, { pod, node }),
      sandbox_config: sandboxConfigOf(podConfig, { node, logFolder }),
    })
    await this.#relist()
    return answer.container_id
  }

  async startContainer(id: string): Promise<void> {
    try {
      await this.#client.call('StartContainer', { container_id: id })
    } catch (error) {
      throw new StartError('RunContainerError', (error as Error).message)
    } finally {
      await this.#relist()
    }
  }

  async updateContainer(id: string, resources: ContainerResources): Promise<void> {
    const linux = linuxResources(resources)
    await this.#client.call('UpdateContainerResources', { container_id: id, linux })
  }

  stopContainer(id: string, { graceMs, halted }: StopOptions): Stop {
    const stop = async (ms: number) => {
      const container = this.#containers.get(id)
      if (!container || container.state === 'exited') return
      if (halted) writeFileSync(this.#haltedFile(id), '')
      await this.#client.stop(id, ms)
      await this.#relist()
    }
    const first = stop(graceMs)
    return {
      done: first,
      // Another stop with less time: the runtime kills at whichever comes first.
      shorten: (ms) => {
        stop(ms).catch((error) =>
          this.#options.log.warn({ error: error.message }, 'a stop was not shortened'),
        )
      },
    }
  }

  async removeContainer(id: string): Promise<void> {
    const container = this.#containers.get(id)
    await this.#client.call('RemoveContainer', { container_id: id })
    rmSync(this.#haltedFile(id), { force: true })
    if (container?.logPath)
      for (const file of [container.logPath, rotatedLog(container.logPath)])
        rmSync(file, { force: true })
    await this.#relist()
  }

  connect({ id }: Sandbox, port: number): Duplex {
    const request = { pod_sandbox_id: id, port: [port] }
    const urlOf = async () => (await this.#client.call<{ url: string }>('PortForward', request)).url
    return connectThroughCri(urlOf, port)
  }

  exec(id: string, command: readonly string[], options: SessionOptions): Session {
    return this.#session('Exec', id, { cmd: command, ...options }, options)
  }
  attach(id: string, options: SessionOptions): Session {
    return this.#session('Attach', id, options, options)
  }

  logs(container: Container, options: LogOptions, signal: AbortSignal): AsyncIterable<Buffer> {
    const ended = () => (this.#containers.get(container.id)?.state ?? 'exited') === 'exited'
    return readCriLog(
      {
        file: container.logPath,
        marks: () => ({ marks: [], end: 0 }),
        ended,
        onChange: (listener) => {
          const timer = setInterval(listener, logPollMs)
          return () => clearInterval(timer)
        },
      },
      options,
      signal,
    )
  }

  usage(): Promise<ReadonlyMap<string, ContainerUsage>> {
    return readStats(this.#client, (id) => this.#containers.has(id), usageIn)
  }
  writtenFiles(): Promise<ReadonlyMap<string, DiskUsage>> {
    return readStats(this.#client, (id) => this.#containers.has(id), writtenIn)
  }

  #session(method: string, id: string, what: object, options: SessionOptions): Session {
    const request = { container_id: id, ...what, stdout: true, stderr: !options.tty }
    const urlOf = async () => (await this.#client.call<{ url: string }>(method, request)).url
    return startCriSession(urlOf, options)
  }

  #logFolder(podUid: string): string {
    return path.join(this.#options.root, 'logs', podUid)
  }
  #haltedFile(id: string): string {
    return path.join(this.#options.root, 'halted', id)
  }

  /** One relist at a time; all calls meanwhile wait for the one that begins then. */
  #relist(): Promise<void> {
    if (!this.#relisting) return this.#beginRelist()
    this.#nextRelist ??= this.#relisting
      .catch(() => {})
      .then(() => {
        this.#nextRelist = undefined
        return this.#beginRelist()
      })
    return this.#nextRelist
  }

  #beginRelist(): Promise<void> {
    this.#relisting = this.#look().finally(() => {
      if (!this.#nextRelist) this.#relisting = undefined
    })
    return this.#relisting
  }

  async #look(): Promise<void> {
    const filter = { label_selector: { [labelNames.node]: this.#options.nodeName } }
    const [{ items }, { containers }] = await Promise.all([
      this.#client.call<{ items: CriSandbox[] }>('ListPodSandbox', { filter }),
      this.#client.call<{ containers: CriContainer[] }>('ListContainers', { filter }),
    ])
    const changed = new Set<string>()
    try {
      await this.#takeSandboxes(items, changed)
      await this.#takeContainers(containers, changed)
    } finally {
      for (const uid of changed) this.#onChange(uid)
    }
  }

  /**
   * Undefined for what somebody has removed since it was listed, and for what the runtime cannot tell of: neither may hide
   * the others. The next look asks again.
   */
  async #ask<T>(method: string, request: object): Promise<T | undefined> {
    try {
      return await this.#client.call<T>(method, request)
    } catch (error) {
      const { code, message, isFinal } = error as RpcError
      if (!isFinal) throw error
      if (code !== status.NOT_FOUND)
        this.#options.log.warn({ ...request, error: message }, `${method} failed`)
      return undefined
    }
  }

  async #takeSandboxes(rows: readonly CriSandbox[], changed: Set<string>): Promise<void> {
    forgetOthers(this.#sandboxes, rows, changed)
    for (const row of rows) {
      const known = this.#sandboxes.get(row.id)
      const ready = row.state === 0
      if (known?.ready === ready) continue
      const answer = await this.#ask<{ status: { network: { ip: string } | null } }>(
        'PodSandboxStatus',
        { pod_sandbox_id: row.id },
      )
      if (!answer) continue
      const ip = answer.status.network?.ip || known?.ips[0] || ''
      this.#sandboxes.set(row.id, toSandbox(row, ip))
      changed.add(row.metadata.uid)
    }
  }

  async #takeContainers(rows: readonly CriContainer[], changed: Set<string>): Promise<void> {
    forgetOthers(this.#containers, rows, changed)
    for (const row of rows) {
      if (this.#containers.get(row.id)?.state === stateOf(row.state)) continue
      const answer = await this.#ask<{ status: CriContainerStatus }>('ContainerStatus', {
        container_id: row.id,
      })
      if (!answer) continue
      const container = toContainer(row, answer.status, existsSync(this.#haltedFile(row.id)))
      this.#containers.set(row.id, container)
      changed.add(container.pod.uid)
    }
  }
}
