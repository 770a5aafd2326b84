/**
 * Devices that have to be prepared before a Pod that uses them is bound, by what their drivers say of them in the status of
 * the claim (KEP-5007). Upstream: isClaimReadyForBinding and isClaimTimeout of plugins/dynamicresources.
 */
import { parseTime } from '#api/clock.js'
import { isConditionTrue } from '#api/conditions.js'
import type { AllocatedDevice, ResourceClaim } from '#client/resource-claim.js'
import { goQuote } from '#go/quote.js'

/** Ready, or it may be later, or why it will not be, in upstream's words. */
type Readiness = 'ready' | 'pending' | { problem: string }

const devicesOf = ({ status }: ResourceClaim): AllocatedDevice[] =>
  (status?.allocation?.devices.results ?? []).filter(
    ({ bindingConditions = [] }) => bindingConditions.length > 0,
  )

/** When it is too late; undefined where nothing is waited for. `timeoutMs` counts from the allocation. */
export const readyBy = (claim: ResourceClaim, timeoutMs: number): number | undefined => {
  const since = claim.status?.allocation?.allocationTimestamp
  return !since || devicesOf(claim).length === 0 ? undefined : parseTime(since) + timeoutMs
}

const deviceReadiness = (claim: ResourceClaim, device: AllocatedDevice): Readiness => {
  const known = claim.status?.devices?.find(
    (one) =>
      one.driver === device.driver && one.pool === device.pool && one.device === device.device,
  )
  if (known === undefined) return 'pending'
  const conditions = known.conditions ?? []
  for (const type of device.bindingFailureConditions ?? []) {
    const failed = conditions.find((one) => one.type === type && one.status === 'True')
    if (failed !== undefined)
      return {
        problem: `device binding failed: claim=${claim.metadata.name}, reason=${failed.reason ?? ''}, message=${goQuote(failed.message ?? '')}`,
      }
  }
  const status = { conditions }
  return device.bindingConditions!.every((type) => isConditionTrue({ status }, type))
    ? 'ready'
    : 'pending'
}

export const readinessOf = (
  claim: ResourceClaim,
  { now, timeoutMs }: { now: number; timeoutMs: number },
): Readiness => {
  for (const device of devicesOf(claim)) {
    const readiness = deviceReadiness(claim, device)
    if (readiness === 'ready') continue
    const isLate = (readyBy(claim, timeoutMs) ?? now) < now
    return readiness === 'pending' && isLate
      ? { problem: `device binding timeout: claim=${claim.metadata.name}` }
      : readiness
  }
  return 'ready'
}

/** Whether something has to be waited for; it may have happened by now. */
export const hasToBeReady = (claim: ResourceClaim): boolean => devicesOf(claim).length > 0
