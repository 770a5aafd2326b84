/** Devices as their drivers publish them (resource.k8s.io/v1). */
import type { PersistedObject } from '#api/object.js'
import type { DeviceTaint, NodeSelector } from './resource-claim.js'

export interface DeviceAttribute {
  bool?: boolean
  int?: number
  string?: string
  version?: string
}
/** From which nodes devices can be used. */
export interface Reach {
  nodeName?: string
  nodeSelector?: NodeSelector
  allNodes?: boolean
}
type Counters = Record<string, { value: string }>
/** An amount of a device, and how much of it a share may take. */
export interface DeviceCapacity {
  value: string
  requestPolicy?: {
    default?: string
    validValues?: string[]
    validRange?: { min: string; max?: string; step?: string }
  }
}
export interface Device extends Reach {
  name: string
  attributes?: Record<string, DeviceAttribute>
  capacity?: Record<string, DeviceCapacity>
  taints?: DeviceTaint[]
  consumesCounters?: { counterSet: string; counters: Counters }[]
  allowMultipleAllocations?: boolean
  /** It can be used only where it was allocated for. */
  bindsToNode?: boolean
  bindingConditions?: string[]
  bindingFailureConditions?: string[]
}
export interface ResourceSlice extends PersistedObject {
  spec: Reach & {
    driver: string
    pool: { name: string; generation: number; resourceSliceCount: number }
    perDeviceNodeSelection?: boolean
    sharedCounters?: { name: string; counters: Counters }[]
    devices?: Device[]
  }
}
