/**
 * What the kubelet needs of whatever runs containers. Two folders implement it: runtime/process (a container is a
 * process group on this host) and runtime/cri (a real container runtime over CRI).
 * Times are milliseconds since the epoch, ids are opaque, and everything that is listed survives the kubelet:
 * a kubelet that was killed finds what it started, and how what has ended ended.
 */
import type { Duplex, Readable, Writable } from 'node:stream'
import type { DnsConfig } from './environment/pod-dns.js'
import type { SeLinuxOptions } from './pod.js'

export interface PodIdentity {
  readonly uid: string
  readonly namespace: string
  readonly name: string
}

export interface Sandbox {
  readonly id: string
  readonly pod: PodIdentity
  /** 0 for the first sandbox of a Pod, one more for each that had to be made again. */
  readonly attempt: number
  readonly ready: boolean
  readonly ips: readonly string[]
  readonly createdAt: number
}

/** Whose namespaces a container uses: the host's, the Pod's or its own. */
export interface Namespaces {
  readonly network: 'pod' | 'node'
  readonly pid: 'pod' | 'container' | 'node'
  readonly ipc: 'pod' | 'node'
  readonly users: 'pod' | 'node'
}

export interface SecurityProfile {
  readonly type: 'RuntimeDefault' | 'Unconfined' | 'Localhost'
  /** Of a Localhost one: a file for seccomp, a name for AppArmor. */
  readonly localhostRef?: string
}

export interface SandboxSecurity {
  readonly namespaces: Namespaces
  readonly runAsUser: number | undefined
  readonly runAsGroup: number | undefined
  readonly supplementalGroups: readonly number[]
  /** Only these: what the image says of its user's groups does not count. */
  readonly strictGroups: boolean
  readonly seLinuxOptions: SeLinuxOptions | undefined
  readonly seccomp: SecurityProfile
  readonly privileged: boolean
}

export interface ContainerSecurity extends SandboxSecurity {
  /** Instead of `runAsUser`: the image's user, where that is no number. */
  readonly runAsUserName: string
  readonly readOnlyRootFilesystem: boolean
  readonly noNewPrivileges: boolean
  readonly capabilities: { readonly add?: string[]; readonly drop?: string[] } | undefined
  readonly procIsUnmasked: boolean
  readonly appArmor: SecurityProfile | undefined
}

/** The user that an image runs as: one of the two, or neither, for root. */
export interface ImageUser {
  readonly uid: number | undefined
  readonly userName: string
}

export interface RuntimeImage extends ImageUser {
  readonly id: string
  readonly sizeBytes: number
}

/** A port of the host that leads to one of the Pod. */
export interface PortMapping {
  readonly protocol: string
  readonly containerPort: number
  readonly hostPort: number
  /** Empty: every address of the host. */
  readonly hostIp: string
}

export interface SandboxConfig {
  readonly pod: PodIdentity
  readonly attempt: number
  readonly hostname: string
  readonly dns: DnsConfig
  readonly portMappings: readonly PortMapping[]
  readonly security: SandboxSecurity
  readonly sysctls: Readonly<Record<string, string>>
  readonly labels: Readonly<Record<string, string>>
  readonly annotations: Readonly<Record<string, string>>
}

/** An image whose files are mounted. */
interface MountedImage {
  readonly id: string
  /** As the Pod names it. */
  readonly reference: string
  /** The folder of the image that is mounted; empty for all of it. */
  readonly subPath: string
}

export interface Mount {
  readonly volume: string
  /** Empty where an image is mounted. */
  readonly hostPath: string
  readonly image?: MountedImage
  readonly containerPath: string
  readonly readOnly: boolean
  /** With all that is mounted in it. */
  readonly recursiveReadOnly?: boolean
  /** Whether mounts that are made later are seen on the other side; undefined: on neither side. */
  readonly propagation?: 'HostToContainer' | 'Bidirectional'
}

/** Limits, if any, and the share of the processor's time that is requested. */
export interface ContainerResources {
  readonly cpuRequestMillis: number
  readonly cpuMillis?: number
  readonly memoryBytes?: number
  readonly oomScore: number
}

export interface ContainerConfig {
  readonly name: string
  /** How often this container of the Pod ran before: its restartCount. */
  readonly attempt: number
  readonly image: string
  readonly imageId: string
  /** Command and arguments; an empty list asks for what the image has. */
  readonly command: readonly string[]
  readonly args: readonly string[]
  readonly env: readonly (readonly [name: string, value: string])[]
  readonly workingDir: string | undefined
  readonly mounts: readonly Mount[]
  readonly stdin: boolean
  /** Its input ends with the first client that attaches to it. */
  readonly stdinOnce?: boolean
  readonly tty: boolean
  readonly security: ContainerSecurity
  /** Names of devices that the runtime adds to the container. */
  readonly cdiDevices?: readonly string[]
  /** Digest of the container's spec: a container that runs with another one is replaced. */
  readonly hash: string
  /** A container of the same Pod whose processes this one sees; missing: its own alone. */
  readonly targetId?: string
  /** As in `SIGUSR1`; missing: the image's, else SIGTERM. */
  readonly stopSignal?: string
  readonly resources: ContainerResources
}

export type ContainerState = 'created' | 'running' | 'exited' | 'unknown'

/** Whose process it began as. */
export interface ContainerUser {
  readonly uid: number
  readonly gid: number
  readonly supplementalGroups?: readonly number[]
}

export interface Container {
  readonly id: string
  readonly sandboxId: string
  readonly pod: PodIdentity
  readonly name: string
  readonly attempt: number
  readonly image: string
  readonly imageId: string
  readonly hash: string
  readonly state: ContainerState
  readonly createdAt: number
  readonly startedAt: number
  readonly finishedAt: number
  /** 128 + the signal's number when a signal ended it; 137 when nobody saw the end. */
  readonly exitCode: number
  readonly reason: string
  readonly message: string
  /** Ended because the node went down, not by itself: its next start has no back-off. */
  readonly halted: boolean
  /** Host's main process, where the runtime knows it. */
  readonly pid: number | undefined
  readonly logPath: string
  /** Where the runtime says it. */
  readonly user?: ContainerUser | undefined
  /** Its mounts that are read-only with all that is mounted in them, by their paths in the container. */
  readonly recursiveReadOnly?: readonly string[]
}

export interface LogOptions {
  readonly follow: boolean
  readonly timestamps: boolean
  readonly tailLines: number | undefined
  readonly sinceTime: number | undefined
  readonly limitBytes: number | undefined
}

/** A command beside the container's main process, or the main process itself when attached. */
export interface Session {
  readonly stdin: Writable | undefined
  readonly stdout: Readable | undefined
  readonly stderr: Readable | undefined
  /** Exit code once it has ended; attached sessions yield 0. */
  readonly done: Promise<number>
  resize(columns: number, rows: number): void
  /** Ends it and whatever it started, unless it has ended. */
  kill(): void
}

export interface SessionOptions {
  readonly stdin: boolean
  readonly tty: boolean
}

export interface StopOptions {
  /** Time between the stop signal and SIGKILL. */
  readonly graceMs: number
  readonly signal?: NodeJS.Signals
  /** See Container.halted. */
  readonly halted?: boolean
}

/** A stop in progress: `done` resolves when no process of the container is left. */
export interface Stop {
  readonly done: Promise<void>
  /** Brings SIGKILL forward to `graceMs` from now; later than planned is ignored. */
  shorten(graceMs: number): void
}

/** Usage of a disk. */
export interface DiskUsage {
  readonly bytes: number
  readonly inodes: number
}

export interface ContainerUsage {
  readonly cpuNanoseconds: number
  readonly memoryBytes: number
  /** Undefined where the runtime does not say. */
  readonly processes?: number
}

/** A container could not be made or started; `reason` is what its status shows. */
export class StartError extends Error {
  readonly reason: string
  /** What the event says. */
  readonly told: string
  /** When trying again makes sense; missing: soon, and then less and less often. */
  readonly retryMs: number | undefined
  constructor(reason: string, message: string, more: { told?: string; retryMs?: number } = {}) {
    super(message)
    this.name = 'StartError'
    this.reason = reason
    this.told = more.told ?? message
    this.retryMs = more.retryMs
  }
}

/** What the Pod says cannot be done, or names something that is not there. */
export const configError = (message: string): StartError =>
  new StartError('CreateContainerConfigError', message)

/** Who somebody is to a registry of images. */
export interface RegistryCredentials {
  readonly username: string
  readonly password: string
}

/** What a runtime can do that others cannot, as a Node's status has it. */
export interface NodeFeatures {
  /** Whether a container has no groups but those that its Pod names, where that says Strict. */
  readonly supplementalGroupsPolicy: boolean
}

/** What one of the runtime's handlers can do, as node.status.runtimeHandlers has it; the name of its default is empty. */
export interface RuntimeHandler {
  readonly name: string
  readonly features: {
    readonly recursiveReadOnlyMounts: boolean
    readonly userNamespaces: boolean
  }
}

/** An image of the node. */
export interface NodeImage {
  readonly id: string
  readonly names: readonly string[]
  readonly sizeBytes: number
}

/** A port of a Pod cannot be reached; the message is the runtime's own, for the client. */
export class ForwardError extends Error {}

export interface ContainerRuntime {
  /** For node.status.nodeInfo and containerID, as in `process://…`. */
  readonly name: string
  readonly version: string
  /** False: containers are processes of this host and see its files, images are names only, and one without a command has nothing to run. */
  readonly hasImages: boolean
  /** Known once it is open; undefined where it does not say. */
  readonly features: NodeFeatures | undefined
  /** Known once it is open; none where it does not say. */
  readonly handlers: readonly RuntimeHandler[]

  /** Finds what an earlier kubelet left, and starts to report changes. */
  open(onChange: (podUid: string) => void): Promise<void>
  /** Stops reporting; leaves everything running. */
  close(): Promise<void>

  sandboxes(): readonly Sandbox[]
  containers(): readonly Container[]
  /** Containers of one Pod, oldest first. */
  containersOf(podUid: string): readonly Container[]
  sandboxesOf(podUid: string): readonly Sandbox[]

  /** `handler` names a handler of the runtime; empty for its default. */
  runSandbox(config: SandboxConfig, handler: string): Promise<Sandbox>
  stopSandbox(id: string): Promise<void>
  removeSandbox(id: string): Promise<void>

  /** The image, if it is there. */
  findImage(image: string): Promise<RuntimeImage | undefined>
  /** Yields its id. Without credentials the registry is asked as by anybody. The signal ends it, as failed. */
  pullImage(
    image: string,
    credentials: RegistryCredentials | undefined,
    signal: AbortSignal,
  ): Promise<string>
  /** The images that are there, the largest first. */
  images(): Promise<readonly NodeImage[]>
  /** `pod` is what its sandbox was made of. */
  createContainer(sandbox: Sandbox, config: ContainerConfig, pod: SandboxConfig): Promise<string>
  /** Throws StartError when the command cannot be started. */
  startContainer(id: string): Promise<void>
  /** Gives a container that runs other resources. */
  updateContainer(id: string, resources: ContainerResources): Promise<void>
  stopContainer(id: string, options: StopOptions): Stop
  /** Removes an ended container with its log. */
  removeContainer(id: string): Promise<void>

  /** A connection to a port of a Pod, made inside its network. When that fails it ends with a ForwardError or the system's. */
  connect(sandbox: Sandbox, port: number): Duplex
  exec(id: string, command: readonly string[], options: SessionOptions): Session
  attach(id: string, options: SessionOptions): Session
  /** The log's bytes, ready to send. */
  logs(container: Container, options: LogOptions, signal: AbortSignal): AsyncIterable<Buffer>
  usage(): Promise<ReadonlyMap<string, ContainerUsage>>
  /** What these containers have written outside their volumes and logs, by id; it may have other containers, too. */
  writtenFiles(ids: readonly string[]): Promise<ReadonlyMap<string, DiskUsage>>
  /** Where images and those files lie; undefined: on the disk of the kubelet's own files. */
  imageFolder(): Promise<string | undefined>
  /** Removes the images that no container uses, and yields their ids. */
  removeUnusedImages(ageMsMin: number): Promise<readonly string[]>
}
