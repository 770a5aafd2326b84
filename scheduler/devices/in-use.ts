import { parseQuantity } from '#api/quantity.js'
import type { Allocation } from '#client/resource-claim.js'
import { deviceId } from './pools.js'

/** Devices that were allocated to other claims, by their ids. */
export interface DevicesInUse {
  /** Those that one claim has to itself. */
  readonly whole: ReadonlySet<string>
  /** Those of which claims have shares, with what these take together: billionths, by capacity. */
  readonly shared: ReadonlyMap<string, ReadonlyMap<string, bigint>>
}

/** Administrators take nothing. Upstream: foreachAllocatedDevice. */
export const devicesInUse = (allocations: Iterable<Allocation>): DevicesInUse => {
  const whole = new Set<string>()
  const shared = new Map<string, Map<string, bigint>>()
  for (const { devices } of allocations)
    for (const result of devices.results ?? []) {
      if (result.adminAccess) continue
      const id = deviceId(result.driver, result.pool, result.device)
      if (result.shareID === undefined) {
        whole.add(id)
        continue
      }
      const taken = shared.get(id) ?? new Map<string, bigint>()
      shared.set(id, taken)
      for (const [name, text] of Object.entries(result.consumedCapacity ?? {}))
        taken.set(name, (taken.get(name) ?? 0n) + parseQuantity(text).nano)
    }
  return { whole, shared }
}
