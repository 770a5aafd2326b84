/** The parts of Pods and Nodes that our processes read. */

import { type Condition, isConditionTrue } from '#api/conditions.js'
import type { LabelSelector } from '#api/label-selector.js'
import type { NamespacedObject, PersistedObject } from '#api/object.js'
import { isTerminalPhase } from '#api/pod-phase.js'

export interface Taint {
  key: string
  value?: string
  effect: string
  timeAdded?: string
}
export interface Toleration {
  key?: string
  operator?: string
  value?: string
  effect?: string
  tolerationSeconds?: number
}
export type Amounts = Record<string, string>
export interface Container {
  name: string
  image?: string
  restartPolicy?: string
  ports?: {
    name?: string
    containerPort: number
    protocol?: string
    hostPort?: number
    hostIP?: string
  }[]
  resources?: { requests?: Amounts; limits?: Amounts }
  restartPolicyRules?: { action: string }[]
}
interface NodeSelectorRequirement {
  key: string
  operator: string
  values?: string[]
}
export interface NodeSelectorTerm {
  matchExpressions?: NodeSelectorRequirement[]
  matchFields?: NodeSelectorRequirement[]
}
export interface PodAffinityTerm {
  labelSelector?: LabelSelector
  matchLabelKeys?: string[]
  mismatchLabelKeys?: string[]
  namespaces?: string[]
  namespaceSelector?: LabelSelector
  topologyKey: string
}
interface WeightedPodAffinityTerm {
  weight: number
  podAffinityTerm: PodAffinityTerm
}
interface PodAffinity {
  requiredDuringSchedulingIgnoredDuringExecution?: PodAffinityTerm[]
  preferredDuringSchedulingIgnoredDuringExecution?: WeightedPodAffinityTerm[]
}
export interface Affinity {
  nodeAffinity?: {
    requiredDuringSchedulingIgnoredDuringExecution?: { nodeSelectorTerms: NodeSelectorTerm[] }
    preferredDuringSchedulingIgnoredDuringExecution?: {
      weight: number
      preference: NodeSelectorTerm
    }[]
  }
  podAffinity?: PodAffinity
  podAntiAffinity?: PodAffinity
}
export interface TopologySpreadConstraint {
  maxSkew: number
  topologyKey: string
  whenUnsatisfiable: string
  labelSelector?: LabelSelector
  minDomains?: number
  matchLabelKeys?: string[]
  nodeAffinityPolicy?: string
  nodeTaintsPolicy?: string
}
export interface PodSpec {
  nodeName?: string
  schedulerName?: string
  priority?: number
  preemptionPolicy?: string
  schedulingGates?: { name: string }[]
  nodeSelector?: Record<string, string>
  affinity?: Affinity
  tolerations?: Toleration[]
  topologySpreadConstraints?: TopologySpreadConstraint[]
  containers: Container[]
  initContainers?: Container[]
  overhead?: Amounts
  resources?: { limits?: Amounts; requests?: Amounts }
  hostNetwork?: boolean
  hostUsers?: boolean
  hostname?: string
  subdomain?: string
  serviceAccountName?: string
  terminationGracePeriodSeconds?: number
  volumes?: {
    name: string
    persistentVolumeClaim?: { claimName: string }
    ephemeral?: unknown
    image?: { reference?: string }
  }[]
  restartPolicy?: string
  activeDeadlineSeconds?: number
  /** Each by the name of a claim, or by that of a template of which one is made for the Pod. */
  resourceClaims?: {
    name: string
    resourceClaimName?: string
    resourceClaimTemplateName?: string
  }[]
}
export interface ContainerStatus {
  name: string
  restartCount?: number
  ready?: boolean
  state?: {
    running?: { startedAt?: string }
    terminated?: { exitCode: number; finishedAt?: string; reason?: string; message?: string }
  }
  resources?: { limits?: Amounts; requests?: Amounts }
  allocatedResources?: Amounts
}
export interface PodStatus {
  phase?: string
  reason?: string
  message?: string
  conditions?: Condition[]
  podIP?: string
  podIPs?: { ip: string }[]
  hostIP?: string
  nominatedNodeName?: string
  startTime?: string
  containerStatuses?: ContainerStatus[]
  initContainerStatuses?: ContainerStatus[]
  resourceClaimStatuses?: { name: string; resourceClaimName?: string }[]
  resources?: { limits?: Amounts; requests?: Amounts }
  allocatedResources?: Amounts
  /** The claim to devices for extended resources that its node has no other way. */
  extendedResourceClaimStatus?: {
    resourceClaimName: string
    requestMappings: ExtendedResourceMapping[]
  }
}
/** Which request of the claim stands for what a container asks for. */
export interface ExtendedResourceMapping {
  containerName: string
  resourceName: string
  requestName: string
}
export interface Pod extends NamespacedObject {
  spec: PodSpec
  status: PodStatus
}
export interface Node extends PersistedObject {
  spec: {
    unschedulable?: boolean
    taints?: Taint[]
    providerID?: string
    podCIDR?: string
    podCIDRs?: string[]
  }
  status: {
    allocatable?: Amounts
    capacity?: Amounts
    conditions?: Condition[]
    addresses?: { type: string; address: string }[]
    /** By their unique names. */
    volumesInUse?: string[]
    volumesAttached?: { name: string; devicePath: string }[]
    images?: { names?: string[]; sizeBytes?: number }[]
    declaredFeatures?: string[]
  }
}

export const isSameTaint = (a: Taint | Toleration) => (b: Taint | Toleration) =>
  a.key === b.key && a.effect === b.effect

/** A strategic merge of one condition; a new one comes last, which has to be said, as client-go's patches say it. */
export const conditionPatch = <T extends { type: string }>(
  { status }: { status?: { conditions?: Condition[] } },
  condition: T,
): { conditions: T[]; '$setElementOrder/conditions': { type: string }[] } => {
  const types = new Set([...(status?.conditions ?? []).map(({ type }) => type), condition.type])
  return {
    conditions: [condition],
    '$setElementOrder/conditions': [...types].map((type) => ({ type })),
  }
}

export const isPodTerminal = (pod: Pod): boolean => isTerminalPhase(pod.status?.phase)

/** Neither finished nor on its way out (kubernetes, controller_utils.go IsPodActive). */
export const isPodActive = (pod: Pod): boolean =>
  !isPodTerminal(pod) && pod.metadata.deletionTimestamp === undefined

export const isPodReady = (pod: Pod): boolean => isConditionTrue(pod, 'Ready')
export const isPodRunningAndReady = (pod: Pod): boolean =>
  pod.status?.phase === 'Running' && isPodReady(pod)
export const isNodeReady = (node: Node): boolean => isConditionTrue(node, 'Ready')

/** A toleration without a key and with operator Exists tolerates everything; an empty effect any effect. */
export const tolerates = (toleration: Toleration, taint: Taint): boolean => {
  if (toleration.effect && toleration.effect !== taint.effect) return false
  if (toleration.key && toleration.key !== taint.key) return false
  if (toleration.operator === 'Exists') return true
  return Boolean(toleration.key) && (toleration.value ?? '') === (taint.value ?? '')
}

/** The taint, if there is one, that keeps a Pod of these tolerations from being put on the node. */
export const untoleratedTaint = (node: Node, tolerations: readonly Toleration[] = []) =>
  (node.spec.taints ?? []).find(
    (taint) => taint.effect !== 'PreferNoSchedule' && !tolerations.some((t) => tolerates(t, taint)),
  )

export const isTerminating = ({ metadata }: Pod): boolean =>
  metadata.deletionTimestamp !== undefined
