/** ResourceClaims as our processes see them: what is asked for, what was allocated, and who uses it (resource.k8s.io/v1). */
import type { Condition } from '#api/conditions.js'
import type { NamespacedObject, PersistedObject } from '#api/object.js'
import type { JsonObject } from '#json/value.js'
import type { NodeSelectorTerm, Pod, PodSpec, PodStatus } from './pod.js'

export interface DeviceTaint {
  key: string
  value?: string
  effect: string
  timeAdded?: string
}
export interface DeviceToleration {
  key?: string
  operator?: string
  value?: string
  effect?: string
  tolerationSeconds?: number
}
export interface DeviceSelector {
  cel?: { expression: string }
}
/** What one request asks for, or one of its alternatives. */
export interface DevicesAsked {
  deviceClassName: string
  selectors?: DeviceSelector[]
  allocationMode?: string
  count?: number
  adminAccess?: boolean
  tolerations?: DeviceToleration[]
  /** Of each device; a device that several claims share gives each as much. */
  capacity?: { requests?: Record<string, string> }
}
export interface DeviceRequest {
  name: string
  exactly?: DevicesAsked
  firstAvailable?: (DevicesAsked & { name: string })[]
}
export interface DeviceConstraint {
  /** None: all of the claim's. */
  requests?: string[]
  matchAttribute?: string
  distinctAttribute?: string
}
export interface DeviceConfiguration {
  requests?: string[]
  opaque?: JsonObject
}
export interface AllocatedDevice {
  request: string
  driver: string
  pool: string
  device: string
  adminAccess?: boolean
  tolerations?: DeviceToleration[]
  /** Of a device that several claims may share: which share of it, and what that takes. */
  shareID?: string
  consumedCapacity?: Record<string, string>
  /** What its driver has to say of it before its Pod is bound, and what it says if that will never be. */
  bindingConditions?: string[]
  bindingFailureConditions?: string[]
}
/** What a driver says of an allocated device. */
interface AllocatedDeviceStatus {
  driver: string
  pool: string
  device: string
  conditions?: Condition[]
}
export interface NodeSelector {
  nodeSelectorTerms: NodeSelectorTerm[]
}
export interface Allocation {
  devices: {
    results?: AllocatedDevice[]
    config?: (DeviceConfiguration & { source: string })[]
  }
  nodeSelector?: NodeSelector
  allocationTimestamp?: string
}
interface Consumer {
  apiGroup?: string
  resource: string
  name: string
  uid: string
}
export interface ResourceClaim extends NamespacedObject {
  spec: {
    devices?: {
      requests?: DeviceRequest[]
      constraints?: DeviceConstraint[]
      config?: DeviceConfiguration[]
    }
  }
  status?: { allocation?: Allocation; reservedFor?: Consumer[]; devices?: AllocatedDeviceStatus[] }
}

/** Keeps an allocated claim while somebody may use its devices. */
export const claimFinalizer = 'resource.kubernetes.io/delete-protection'

export const isAllocated = ({ status }: ResourceClaim): boolean => status?.allocation !== undefined

export const isPodConsumer = ({ apiGroup, resource }: Consumer): boolean =>
  !apiGroup && resource === 'pods'

export const isReservedFor = (
  { status }: ResourceClaim,
  { metadata }: Pick<PersistedObject, 'metadata'>,
): boolean => (status?.reservedFor ?? []).some(({ uid }) => uid === metadata.uid)

/** After a template, or for extended resources. Upstream: resourceclaim.IsForPod. */
export const isMadeFor = (
  { metadata }: ResourceClaim,
  pod: Pick<PersistedObject, 'metadata'>,
): boolean =>
  (metadata.ownerReferences ?? []).some(
    ({ controller, uid }) => controller === true && uid === pod.metadata.uid,
  )

interface ClaimOfPod {
  /** Undefined if none was made: not yet, or because none is needed. */
  readonly name: string | undefined
  /** It is made for the Pod, after a template. */
  readonly isMade: boolean
  readonly isAwaited: boolean
}

interface ClaimingPod {
  readonly spec: Pick<PodSpec, 'resourceClaims'>
  readonly status?: Pick<PodStatus, 'resourceClaimStatuses' | 'extendedResourceClaimStatus'>
}

/** Those that a Pod names, and those that are made for it after templates: one for each of its spec. */
export const resourceClaimsOf = ({ spec, status }: ClaimingPod): ClaimOfPod[] =>
  (spec.resourceClaims ?? []).map(({ name, resourceClaimName }) => {
    if (resourceClaimName !== undefined)
      return { name: resourceClaimName, isMade: false, isAwaited: false }
    // A template may also decide that no claim is needed: then there is a status without a name.
    const made = status?.resourceClaimStatuses?.find((one) => one.name === name)
    return { name: made?.resourceClaimName, isMade: true, isAwaited: made === undefined }
  })

/** Those, and the one that the scheduler has made for its extended resources. */
export const usedClaimsOf = (pod: ClaimingPod): ClaimOfPod[] => {
  const name = pod.status?.extendedResourceClaimStatus?.resourceClaimName
  const claims = resourceClaimsOf(pod)
  return name === undefined ? claims : [...claims, { name, isMade: false, isAwaited: false }]
}

/** The keys of those that have a name by now. */
const keysOf = ({ metadata }: Pod, claims: readonly ClaimOfPod[]): string[] =>
  claims.flatMap(({ name }) => (name === undefined ? [] : `${metadata.namespace}/${name}`))

export const resourceClaimKeys = (pod: Pod): string[] => keysOf(pod, resourceClaimsOf(pod))

export const usedClaimKeys = (pod: Pod): string[] => keysOf(pod, usedClaimsOf(pod))
