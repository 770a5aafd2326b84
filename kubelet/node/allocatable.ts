import { formatQuantity, parseQuantity, quantityValue } from '#api/quantity.js'
import { amountIn, type Threshold } from '../eviction/thresholds.js'

const kept = new Map([
  ['memory.available', 'memory'],
  ['nodefs.available', 'ephemeral-storage'],
])

/** What Pods may have: hard eviction thresholds keep the rest free (upstream: hardEvictionReservation, pkg/kubelet/cm). */
export const allocatableOf = (
  capacity: Readonly<Record<string, string>>,
  thresholds: readonly Threshold[],
): Record<string, string> => {
  const allocatable = { ...capacity }
  for (const { signal, value, graceMs } of thresholds) {
    const resource = kept.get(signal)
    if (resource === undefined || graceMs > 0) continue
    const all = quantityValue(parseQuantity(capacity[resource]!))
    const left = all - amountIn(value, { available: all, capacity: all })
    allocatable[resource] = formatQuantity(left > 0n ? left * 1_000_000_000n : 0n, 'BinarySI')
  }
  return allocatable
}
