/** Converts between the kubelet's types and those of CRI. */
import type {
  Container,
  ContainerConfig,
  ContainerResources,
  ContainerState,
  ContainerUser,
  Mount,
  PodIdentity,
  Sandbox,
  SandboxConfig,
} from '../../runtime.js'
import { containerSecurity, sandboxSecurity } from './cri-security.js'

export const labelNames = {
  node: 'kubelevel.io/node',
  pod: 'io.kubernetes.pod.name',
  namespace: 'io.kubernetes.pod.namespace',
  uid: 'io.kubernetes.pod.uid',
  container: 'io.kubernetes.container.name',
} as const
const annotationNames = {
  hash: 'io.kubernetes.container.hash',
} as const
const cpuPeriodUs = 100_000
/** The kernel takes no less (cm.MilliCPUToQuota). */
const cpuQuotaUsMin = 1_000
const cpuShares = { ofOne: 1024, min: 2, max: 262_144 } as const
/** As the kernel counts them (cm.MilliCPUToShares). */
const sharesOf = (millis: number): number =>
  Math.min(cpuShares.max, Math.max(cpuShares.min, Math.floor((millis * cpuShares.ofOne) / 1000)))

export interface CriContainer {
  id: string
  pod_sandbox_id: string
  metadata: { name: string; attempt: number }
  /** The image's id; its status has the name by which the image was pulled, too. */
  image_ref: string
  state: number
  created_at: number
  labels: Record<string, string>
  annotations: Record<string, string>
}
export interface CriContainerStatus {
  state: number
  started_at: number
  finished_at: number
  exit_code: number
  image: { image: string } | null
  image_ref: string
  reason: string
  message: string
  mounts: {
    container_path: string
    recursive_read_only: boolean
    image: { image: string } | null
  }[]
  log_path: string
  user: {
    linux: { uid: number; gid: number; supplemental_groups: number[] } | null
  } | null
}
export interface CriSandbox {
  id: string
  metadata: { name: string; uid: string; namespace: string; attempt: number }
  state: number
  created_at: number
}

/** CRI's numbers of stop signals: their place here; 0 leaves it to the image. */
const signals = [
  'RUNTIME_DEFAULT',
  ...['ABRT', 'ALRM', 'BUS', 'CHLD', 'CLD', 'CONT', 'FPE', 'HUP', 'ILL', 'INT', 'IO', 'IOT'],
  ...['KILL', 'PIPE', 'POLL', 'PROF', 'PWR', 'QUIT', 'SEGV', 'STKFLT', 'STOP', 'SYS', 'TERM'],
  ...['TRAP', 'TSTP', 'TTIN', 'TTOU', 'URG', 'USR1', 'USR2', 'VTALRM', 'WINCH', 'XCPU', 'XFSZ'],
  'RTMIN',
  ...Array.from({ length: 15 }, (_, i) => `RTMIN+${i + 1}`),
  ...Array.from({ length: 14 }, (_, i) => `RTMAX-${14 - i}`),
  'RTMAX',
]
const signalNumber = (name = ''): number => Math.max(0, signals.indexOf(name.replace(/^SIG/, '')))

/** CRI's numbers of these are their places here. */
const protocols: readonly string[] = ['TCP', 'UDP', 'SCTP']
const propagations = { None: 0, HostToContainer: 1, Bidirectional: 2 } as const

const states: readonly ContainerState[] = ['created', 'running', 'exited', 'unknown']
export const stateOf = (state: number): ContainerState => states[state] ?? 'unknown'

const milliseconds = (nanoseconds: number): number => Math.floor(nanoseconds / 1e6)

const identityOf = (labels: Record<string, string>): PodIdentity => ({
  uid: labels[labelNames.uid] ?? '',
  namespace: labels[labelNames.namespace] ?? '',
  name: labels[labelNames.pod] ?? '',
})

const userOf = ({ user }: CriContainerStatus): ContainerUser | undefined => {
  if (!user?.linux) return undefined
  const { uid, gid, supplemental_groups: supplementalGroups } = user.linux
  return { uid, gid, ...(supplementalGroups.length > 0 ? { supplementalGroups } : {}) }
}

export const toContainer = (
  row: CriContainer,
  status: CriContainerStatus,
  halted: boolean,
): Container => ({
  id: row.id,
  sandboxId: row.pod_sandbox_id,
  pod: identityOf(row.labels),
  name: row.metadata.name,
  attempt: row.metadata.attempt,
  // In lists, runtimes call an image what the kubelet has called it: its id.
  image: status.image?.image ?? '',
  imageId: status.image_ref,
  hash: row.annotations[annotationNames.hash] ?? '',
  state: stateOf(status.state),
  createdAt: milliseconds(row.created_at),
  startedAt: milliseconds(status.started_at),
  finishedAt: milliseconds(status.finished_at),
  exitCode: status.exit_code,
  reason: status.reason,
  message: status.message,
  halted,
  user: userOf(status),
  recursiveReadOnly: status.mounts.flatMap((mount) =>
    mount.recursive_read_only ? mount.container_path : [],
  ),
  pid: undefined,
  logPath: status.log_path,
})

export const toSandbox = (row: CriSandbox, ip: string): Sandbox => ({
  id: row.id,
  pod: { uid: row.metadata.uid, namespace: row.metadata.namespace, name: row.metadata.name },
  attempt: row.metadata.attempt,
  ready: row.state === 0,
  ips: ip === '' ? [] : [ip],
  createdAt: milliseconds(row.created_at),
})

const podLabels = (pod: PodIdentity, node: string): Record<string, string> => ({
  [labelNames.node]: node,
  [labelNames.pod]: pod.name,
  [labelNames.namespace]: pod.namespace,
  [labelNames.uid]: pod.uid,
})

export const sandboxConfigOf = (
  { pod, attempt, hostname, dns, portMappings, security, ...rest }: SandboxConfig,
  { node, logFolder }: { node: string; logFolder: string },
) => ({
  metadata: { name: pod.name, uid: pod.uid, namespace: pod.namespace, attempt },
  hostname: security.namespaces.network === 'node' ? '' : hostname,
  log_directory: logFolder,
  dns_config: dns,
  port_mappings: portMappings.map(({ protocol, containerPort, hostPort, hostIp }) => ({
    protocol: protocols.indexOf(protocol),
    container_port: containerPort,
    host_port: hostPort,
    host_ip: hostIp,
  })),
  labels: { ...rest.labels, ...podLabels(pod, node) },
  annotations: rest.annotations,
  linux: { security_context: sandboxSecurity(security), sysctls: rest.sysctls },
})

export const linuxResources = ({
  cpuRequestMillis,
  cpuMillis,
  memoryBytes,
  oomScore,
}: ContainerResources) => ({
  cpu_shares: sharesOf(cpuRequestMillis),
  oom_score_adj: oomScore,
  ...(cpuMillis
    ? {
        cpu_period: cpuPeriodUs,
        cpu_quota: Math.max(cpuQuotaUsMin, (cpuMillis * cpuPeriodUs) / 1000),
      }
    : {}),
  ...(memoryBytes ? { memory_limit_in_bytes: memoryBytes } : {}),
})

const mountOf = ({ image, propagation, ...mount }: Mount) => ({
  container_path: mount.containerPath,
  host_path: mount.hostPath,
  readonly: mount.readOnly,
  recursive_read_only: mount.recursiveReadOnly === true,
  propagation: propagations[propagation ?? 'None'],
  ...(image
    ? {
        image: { image: image.id, user_specified_image: image.reference },
        image_sub_path: image.subPath,
      }
    : {}),
})

export const containerConfigOf = (
  config: ContainerConfig,
  { pod, node }: { pod: PodIdentity; node: string },
) => ({
  metadata: { name: config.name, attempt: config.attempt },
  image: { image: config.imageId },
  command: config.command,
  args: config.args,
  working_dir: config.workingDir ?? '',
  envs: config.env.map(([key, value]) => ({ key, value: Buffer.from(value) })),
  mounts: config.mounts.map(mountOf),
  labels: { ...podLabels(pod, node), [labelNames.container]: config.name },
  annotations: {
    [annotationNames.hash]: config.hash,
  },
  log_path: `${config.name}_${config.attempt}.log`,
  stdin: config.stdin,
  stdin_once: config.stdinOnce === true,
  tty: config.tty,
  stop_signal: signalNumber(config.stopSignal),
  CDI_devices: (config.cdiDevices ?? []).map((name) => ({ name })),
  linux: {
    resources: linuxResources(config.resources),
    security_context: containerSecurity(config.security, config.targetId),
  },
})
