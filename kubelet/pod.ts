/** The fields of Pods and their statuses that the kubelet reads and writes; all else passes through untouched. */
import { type RestartableContainer, shouldRestart } from '#api/container-restart.js'
import type { NamespacedObject } from '#api/object.js'
import type { Amounts, PodSpec as AnyPodSpec, ExtendedResourceMapping } from '#client/pod.js'

export interface HttpGetAction {
  path?: string
  port: number | string
  host?: string
  scheme?: string
  httpHeaders?: { name: string; value: string }[]
}
export interface Handler {
  exec?: { command?: string[] }
  httpGet?: HttpGetAction
  tcpSocket?: { port: number | string; host?: string }
  sleep?: { seconds: number }
  grpc?: { port: number; service?: string }
}
export interface Probe extends Handler {
  initialDelaySeconds?: number
  timeoutSeconds?: number
  periodSeconds?: number
  successThreshold?: number
  failureThreshold?: number
  terminationGracePeriodSeconds?: number
}
export interface FileKeyRef {
  volumeName: string
  path: string
  key: string
  optional?: boolean
}
export interface EnvVar {
  name: string
  value?: string
  valueFrom?: {
    fieldRef?: { fieldPath: string }
    resourceFieldRef?: { containerName?: string; resource: string; divisor?: string | number }
    configMapKeyRef?: { name?: string; key: string; optional?: boolean }
    secretKeyRef?: { name?: string; key: string; optional?: boolean }
    fileKeyRef?: FileKeyRef
  }
}
interface EnvFromSource {
  prefix?: string
  configMapRef?: { name?: string; optional?: boolean }
  secretRef?: { name?: string; optional?: boolean }
}
export interface VolumeMount {
  name: string
  mountPath: string
  readOnly?: boolean
  recursiveReadOnly?: string
  subPath?: string
  subPathExpr?: string
  mountPropagation?: 'None' | 'HostToContainer' | 'Bidirectional'
}
/** Of seccomp or AppArmor. */
export interface ProfileChoice {
  type: 'RuntimeDefault' | 'Unconfined' | 'Localhost'
  localhostProfile?: string
}
export interface SeLinuxOptions {
  user?: string
  role?: string
  type?: string
  level?: string
}
/** What a Pod may say for all of its containers. */
interface CommonSecurityContext {
  runAsUser?: number | undefined
  runAsGroup?: number | undefined
  runAsNonRoot?: boolean | undefined
  seLinuxOptions?: SeLinuxOptions | undefined
  seccompProfile?: ProfileChoice
  appArmorProfile?: ProfileChoice
}
export interface ContainerSecurityContext extends CommonSecurityContext {
  capabilities?: { add?: string[]; drop?: string[] }
  privileged?: boolean
  readOnlyRootFilesystem?: boolean
  allowPrivilegeEscalation?: boolean
  procMount?: string
}
interface PodSecurityContext extends CommonSecurityContext {
  supplementalGroups?: number[]
  supplementalGroupsPolicy?: string
  fsGroup?: number
  fsGroupChangePolicy?: string
  sysctls?: { name: string; value: string }[]
}
export interface Resources {
  limits?: Amounts
  requests?: Amounts
}
/** The claims are those of the Pod, by its own names for them. */
type ContainerResources = Resources & { claims?: { name: string; request?: string }[] }
interface ContainerPort {
  name?: string
  containerPort: number
  protocol?: string
  hostPort?: number
  hostIP?: string
}
export interface ContainerSpec extends RestartableContainer {
  name: string
  image?: string
  imagePullPolicy?: string
  command?: string[]
  args?: string[]
  workingDir?: string
  ports?: ContainerPort[]
  env?: EnvVar[]
  envFrom?: EnvFromSource[]
  resources?: ContainerResources
  resizePolicy?: { resourceName: string; restartPolicy: string }[]
  volumeMounts?: VolumeMount[]
  volumeDevices?: { name: string }[]
  livenessProbe?: Probe
  readinessProbe?: Probe
  startupProbe?: Probe
  lifecycle?: { postStart?: Handler; preStop?: Handler; stopSignal?: string }
  stdin?: boolean
  stdinOnce?: boolean
  tty?: boolean
  terminationMessagePath?: string
  terminationMessagePolicy?: string
  securityContext?: ContainerSecurityContext
  /** Of an ephemeral container: whose processes it sees. */
  targetContainerName?: string
}
export interface KeyToPath {
  key: string
  path: string
  mode?: number
}
export interface DownwardItem {
  path: string
  fieldRef?: { fieldPath: string }
  resourceFieldRef?: { containerName?: string; resource: string; divisor?: string | number }
  mode?: number
}
export interface VolumeProjection {
  configMap?: { name?: string; items?: KeyToPath[]; optional?: boolean }
  secret?: { name?: string; items?: KeyToPath[]; optional?: boolean }
  downwardAPI?: { items?: DownwardItem[] }
  serviceAccountToken?: { path: string; audience?: string; expirationSeconds?: number }
}
export interface VolumeSpec {
  name: string
  emptyDir?: { medium?: string; sizeLimit?: string | number }
  hostPath?: { path: string; type?: string }
  configMap?: { name?: string; items?: KeyToPath[]; optional?: boolean; defaultMode?: number }
  secret?: { secretName?: string; items?: KeyToPath[]; optional?: boolean; defaultMode?: number }
  downwardAPI?: { items?: DownwardItem[]; defaultMode?: number }
  projected?: { sources?: VolumeProjection[]; defaultMode?: number }
  persistentVolumeClaim?: { claimName: string; readOnly?: boolean }
  csi?: {
    driver: string
    readOnly?: boolean
    fsType?: string
    volumeAttributes?: Readonly<Record<string, string>>
    nodePublishSecretRef?: { name?: string }
  }
  image?: { reference?: string; pullPolicy?: string }
  [source: string]: unknown
}
export interface PodSpec
  extends Pick<
    AnyPodSpec,
    'affinity' | 'overhead' | 'priority' | 'resourceClaims' | 'resources' | 'tolerations'
  > {
  containers: ContainerSpec[]
  initContainers?: ContainerSpec[]
  ephemeralContainers?: ContainerSpec[]
  volumes?: VolumeSpec[]
  imagePullSecrets?: { name?: string }[]
  restartPolicy?: string
  terminationGracePeriodSeconds?: number
  activeDeadlineSeconds?: number
  nodeName?: string
  runtimeClassName?: string
  nodeSelector?: Record<string, string>
  os?: { name: string }
  hostNetwork?: boolean
  hostPID?: boolean
  hostIPC?: boolean
  hostUsers?: boolean
  shareProcessNamespace?: boolean
  securityContext?: PodSecurityContext
  hostname?: string
  hostnameOverride?: string
  subdomain?: string
  setHostnameAsFQDN?: boolean
  hostAliases?: { ip: string; hostnames?: string[] }[]
  dnsPolicy?: 'ClusterFirst' | 'ClusterFirstWithHostNet' | 'Default' | 'None'
  dnsConfig?: {
    nameservers?: string[]
    searches?: string[]
    options?: { name?: string; value?: string }[]
  }
  priorityClassName?: string
  serviceAccountName?: string
  readinessGates?: { conditionType: string }[]
  enableServiceLinks?: boolean
}

export interface ContainerStateTerminated {
  exitCode: number
  reason?: string
  message?: string
  startedAt?: string
  finishedAt?: string
  containerID?: string
}
export interface ContainerStateStatus {
  waiting?: { reason?: string; message?: string }
  running?: { startedAt?: string }
  terminated?: ContainerStateTerminated
}
export interface ContainerStatus {
  name: string
  state: ContainerStateStatus
  lastState: ContainerStateStatus
  ready: boolean
  restartCount: number
  image: string
  imageID: string
  containerID?: string
  started?: boolean
  [field: string]: unknown
}
export interface PodCondition {
  type: string
  status: 'True' | 'False' | 'Unknown'
  observedGeneration?: number
  lastProbeTime?: string | null
  lastTransitionTime?: string | null
  reason?: string
  message?: string
}
export type PodPhase = 'Pending' | 'Running' | 'Succeeded' | 'Failed' | 'Unknown'
export interface PodStatus {
  observedGeneration?: number
  phase?: PodPhase
  conditions?: PodCondition[]
  message?: string
  reason?: string
  hostIP?: string
  hostIPs?: { ip: string }[]
  podIP?: string
  podIPs?: { ip: string }[]
  startTime?: string
  initContainerStatuses?: ContainerStatus[]
  containerStatuses?: ContainerStatus[]
  ephemeralContainerStatuses?: ContainerStatus[]
  qosClass?: string
  resourceClaimStatuses?: { name: string; resourceClaimName?: string }[]
  extendedResourceClaimStatus?: {
    resourceClaimName: string
    requestMappings: ExtendedResourceMapping[]
  }
  allocatedResources?: Amounts
  resources?: Resources
}
export interface Pod extends NamespacedObject {
  spec: PodSpec
  status?: PodStatus
}

/** Which of two states of one Pod is the newer. */
export const revisionOf = ({ metadata }: Pod): number => Number(metadata.resourceVersion ?? 0)

/** Upstream's SystemCriticalPriority: the cluster cannot do without it. */
const criticalPriority = 2_000_000_000
export const hasCriticalPriority = ({ spec }: Pod): boolean =>
  (spec.priority ?? 0) >= criticalPriority

/** How long it may take to end, as far as it is up to the Pod. */
export const ownGraceOf = ({ spec }: Pod): number => spec.terminationGracePeriodSeconds ?? 30

/** Annotations that are the kubelet's own word, whatever the API has of those names. */
export const ownAnnotations = {
  source: 'kubernetes.io/config.source',
  seen: 'kubernetes.io/config.seen',
} as const

/** A Pod of the API, first seen at this time; upstream: updatePodsFunc (pkg/kubelet/config/config.go). */
export const fromApi = (pod: Pod, seen: string): Pod => {
  const { metadata } = pod
  const own = { [ownAnnotations.source]: 'api', [ownAnnotations.seen]: seen }
  return { ...pod, metadata: { ...metadata, annotations: { ...metadata.annotations, ...own } } }
}

/** A Pod of a manifest on this node: only removing the manifest removes it. */
export const isStatic = ({ metadata }: Pod): boolean =>
  (metadata.annotations?.[ownAnnotations.source] ?? 'api') !== 'api'

/** The node must not end it to make room for others (IsCriticalPod). */
export const isCritical = (pod: Pod): boolean => isStatic(pod) || hasCriticalPriority(pod)

/** A restartable init container: it starts with the init containers and runs beside the others. */
export const isSidecar = (container: ContainerSpec): boolean => container.restartPolicy === 'Always'

/** What its limits and requests are of, in the order in which upstream counts its use. */
export const mainAndInitContainers = ({ spec }: Pick<Pod, 'spec'>): ContainerSpec[] => [
  ...spec.containers,
  ...(spec.initContainers ?? []),
]

export const allContainers = (pod: Pod): ContainerSpec[] => [
  ...(pod.spec.initContainers ?? []),
  ...pod.spec.containers,
  ...(pod.spec.ephemeralContainers ?? []),
]

/** A container that was added to debug the Pod: it runs once, and nothing depends on it. */
export const isEphemeral = (pod: Pod, name: string): boolean =>
  (pod.spec.ephemeralContainers ?? []).some((container) => container.name === name)

export const statusesOf = (status: PodStatus): ContainerStatus[] => [
  ...(status.initContainerStatuses ?? []),
  ...(status.containerStatuses ?? []),
  ...(status.ephemeralContainerStatuses ?? []),
]

export const findContainer = (pod: Pod, name: string): ContainerSpec | undefined =>
  allContainers(pod).find((container) => container.name === name)

/** Where events about one container of a Pod point. */
export const fieldPathOf = (pod: Pod, name: string): string => {
  if (isEphemeral(pod, name)) return `spec.ephemeralContainers{${name}}`
  return `spec.${isInit(pod, name) ? 'initContainers' : 'containers'}{${name}}`
}

/** For log lines and messages, as upstream writes a Pod. */
export const formatPod = ({ metadata }: Pod): string =>
  `${metadata.name}_${metadata.namespace}(${metadata.uid})`

/** Whether a container runs again after such an end. */
export const restartsAfter = (pod: Pod, container: ContainerSpec, exitCode: number): boolean => {
  // An init container has done its part, whatever its policy.
  if (isInit(pod, container.name) && !isSidecar(container) && exitCode === 0) return false
  if (isEphemeral(pod, container.name)) return false
  return shouldRestart(container, pod.spec.restartPolicy, exitCode)
}

export const isInit = (pod: Pod, name: string): boolean =>
  (pod.spec.initContainers ?? []).some((container) => container.name === name)
