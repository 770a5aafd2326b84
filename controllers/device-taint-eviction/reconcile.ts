/** When a Pod has to leave devices that were tainted after they were allocated. Pure. */

import { parseTime } from '#api/clock.js'
import { controllerRefOf } from '#api/controller-ref.js'
import type { Pod } from '#client/pod.js'
import {
  type AllocatedDevice,
  type DeviceTaint,
  type DeviceToleration,
  isPodConsumer,
  isReservedFor,
  type ResourceClaim,
  resourceClaimsOf,
} from '#client/resource-claim.js'
import type { ResourceSlice } from '#client/resource-slice.js'

export const poolOfSlice = ({ spec }: ResourceSlice): string => `${spec.driver}/${spec.pool.name}`
const devicesOf = ({ status }: ResourceClaim): readonly AllocatedDevice[] =>
  status?.allocation?.devices.results ?? []
export const poolsOfClaim = (claim: ResourceClaim): string[] => [
  ...new Set(devicesOf(claim).map(({ driver, pool }) => `${driver}/${pool}`)),
]
export const podsOfClaim = ({ metadata, status }: ResourceClaim): string[] =>
  (status?.reservedFor ?? [])
    .filter(isPodConsumer)
    .map(({ name }) => `${metadata.namespace}/${name}`)

/** Of the slices of a pool those of the newest generation count. */
const taintsOf = (device: string, slices: readonly ResourceSlice[]): readonly DeviceTaint[] => {
  const newest = Math.max(...slices.map(({ spec }) => spec.pool.generation))
  const found = slices
    .filter(({ spec }) => spec.pool.generation === newest)
    .flatMap(({ spec }) => spec.devices ?? [])
    .find(({ name }) => name === device)
  return (found?.taints ?? []).filter(({ effect }) => effect === 'NoExecute')
}

/** One for all effects does not count here (as upstream's). */
const tolerates = (toleration: DeviceToleration, taint: DeviceTaint): boolean => {
  const { key, operator = 'Equal', value = '', effect } = toleration
  if (effect !== taint.effect || (key && key !== taint.key)) return false
  return operator === 'Exists' || value === (taint.value ?? '')
}

/** Infinite where it may stay; the shortest of the tolerations counts. */
const endOf = (taint: DeviceTaint, tolerations: readonly DeviceToleration[] = []): number => {
  const seconds = tolerations
    .filter((toleration) => tolerates(toleration, taint))
    .map(({ tolerationSeconds = Number.POSITIVE_INFINITY }) => Math.max(0, tolerationSeconds))
  if (seconds.includes(Number.POSITIVE_INFINITY)) return Number.POSITIVE_INFINITY
  const added = taint.timeAdded ? parseTime(taint.timeAdded) : 0
  return added + (seconds.length === 0 ? 0 : Math.min(...seconds)) * 1000
}

/** A claim that was made for the Pod by a template must still be its own. */
const usesClaim = (pod: Pod, claim: ResourceClaim, isMade: boolean): boolean => {
  const isOwn = controllerRefOf(claim)?.uid === pod.metadata.uid
  return isReservedFor(claim, pod) && (isOwn || !isMade)
}

interface Known {
  claim(key: string): ResourceClaim | undefined
  slices(pool: string): readonly ResourceSlice[]
}

const claimsOfPod = (pod: Pod, known: Known): ResourceClaim[] =>
  resourceClaimsOf(pod).flatMap(({ name, isMade }) => {
    const claim = name && known.claim(`${pod.metadata.namespace}/${name}`)
    return claim && usesClaim(pod, claim, isMade) ? [claim] : []
  })

/** Milliseconds since the epoch; undefined: it may stay. */
export const evictionTime = (pod: Pod, known: Known): number | undefined => {
  if (!pod.spec.nodeName) return undefined
  const ends = claimsOfPod(pod, known)
    .flatMap(devicesOf)
    .flatMap(({ driver, pool, device, tolerations }) =>
      taintsOf(device, known.slices(`${driver}/${pool}`)).map((taint) => endOf(taint, tolerations)),
    )
  const first = Math.min(...ends)
  return first === Number.POSITIVE_INFINITY ? undefined : first
}
