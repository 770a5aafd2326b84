/**
 * Whether a claimed volume has become larger and its file system has not, and what the claim's status says of that. Pure.
 * Upstream: pkg/volume/util/operationexecutor (node_expander.go) and resize_util.go.
 */
import { formatTime } from '#api/clock.js'
import { compareQuantityTexts } from '#api/quantity.js'
import type { Claim, Volume } from '#client/persistent-volume.js'
import type { JsonObject } from '#json/value.js'

interface Condition extends JsonObject {
  readonly type: string
}

interface ClaimStatus {
  readonly capacity?: { readonly storage?: string }
  readonly allocatedResources?: { readonly storage?: string }
  readonly allocatedResourceStatuses?: Readonly<Record<string, string>>
  readonly conditions?: readonly Condition[]
}

export interface Growth {
  readonly claim: Claim
  readonly size: string
}

const statusOf = ({ status }: Claim): ClaimStatus => status as ClaimStatus

/** Undefined where there is nothing to do on the node. */
export const growthOf = (claim: Claim, { spec }: Volume): Growth | undefined => {
  const { capacity, allocatedResources, allocatedResourceStatuses } = statusOf(claim)
  const { storage = '0' } = spec.capacity ?? {}
  if (compareQuantityTexts(capacity?.storage ?? '0', storage) >= 0) return undefined
  const step = allocatedResourceStatuses?.storage
  const allocated = allocatedResources?.storage
  // So it is after a resizer that knows nothing of these fields.
  if (step === undefined && allocated === undefined) return { claim, size: storage }
  const isNodes = step === 'NodeResizePending' || step === 'NodeResizeInProgress'
  return isNodes ? { claim, size: allocated ?? storage } : undefined
}

const ofGrowth = new Set([
  'Resizing',
  'FileSystemResizePending',
  'ControllerResizeError',
  'NodeResizeError',
])

/** A patch of the status, which fails if somebody else has written meanwhile. */
const patchOf = ({ metadata }: Claim, status: object): object => ({
  metadata: { resourceVersion: metadata.resourceVersion },
  status,
})

export const whenBegun = ({ claim }: Growth): object =>
  patchOf(claim, { allocatedResourceStatuses: { storage: 'NodeResizeInProgress' } })

export const whenGrown = ({ claim, size }: Growth): object => {
  const { allocatedResourceStatuses = {}, conditions = [] } = statusOf(claim)
  const others = Object.keys(allocatedResourceStatuses).some((name) => name !== 'storage')
  return patchOf(claim, {
    capacity: { storage: size },
    allocatedResourceStatuses: others ? { storage: null } : null,
    conditions: conditions.filter(({ type }) => !ofGrowth.has(type)),
  })
}

export const whenFailed = (
  { claim }: Growth,
  { message, isInfeasible, now }: { message: string; isInfeasible: boolean; now: number },
): object => {
  const { conditions = [] } = statusOf(claim)
  const failed = {
    type: 'NodeResizeError',
    status: 'True',
    lastTransitionTime: formatTime(now),
    message: `failed to expand pvc with ${message}`,
  }
  return patchOf(claim, {
    ...(isInfeasible ? { allocatedResourceStatuses: { storage: 'NodeResizeInfeasible' } } : {}),
    conditions: [...conditions.filter(({ type }) => type !== failed.type), failed],
  })
}
