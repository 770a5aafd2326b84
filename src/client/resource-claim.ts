/** ResourceClaims as our processes see them: what is asked for, what was allocated, and who uses it (resource.k8s.io/v1). */
import type { NamespacedObject } from '#api/object.js'
import type { JsonObject } from '#json/value.js'
import type { NodeSelectorTerm, Pod } from './pod.js'

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
  capacity?: JsonObject
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
  status?: { allocation?: Allocation; reservedFor?: Consumer[]; devices?: unknown[] }
}

/** Keeps an allocated claim while somebody may use its devices. */
export const claimFinalizer = 'resource.kubernetes.io/delete-protection'

export const isAllocated = ({ status }: ResourceClaim): boolean => status?.allocation !== undefined

export const isPodConsumer = ({ apiGroup, resource }: Consumer): boolean =>
  !apiGroup && resource === 'pods'

export const isReservedFor = ({ status }: ResourceClaim, { metadata }: Pod): boolean =>
  (status?.reservedFor ?? []).some(({ uid }) => uid === metadata.uid)

/** The name of each claim of the Pod that is there by now; templates that need none have no name. */
export const resourceClaimNames = ({ spec, status }: Pod): string[] =>
  (spec.resourceClaims ?? []).flatMap(
    ({ name, resourceClaimName }) =>
      resourceClaimName ??
      status?.resourceClaimStatuses?.find((made) => made.name === name)?.resourceClaimName ??
      [],
  )
