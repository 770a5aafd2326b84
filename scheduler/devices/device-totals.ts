/**
 * How many devices of a class nodes have, and how many of them are taken: for nodes that have an extended resource as devices.
 * Upstream: calculateDRAResourceTotals of plugins/noderesources.
 */
import type { Node } from '#client/pod.js'
import type { DevicesInUse } from './in-use.js'
import { type Pool, reaches } from './pools.js'
import type { DeviceClass } from './requests.js'
import { selectorsMatch } from './selectors.js'

export interface DeviceTotals {
  readonly offered: number
  readonly taken: number
}

/** Of a class whose selectors fail nothing is known. Devices of older generations count, too. */
export const deviceTotals = (
  { spec }: DeviceClass,
  node: Node,
  { pools, inUse }: { pools: readonly Pool[]; inUse: DevicesInUse },
): DeviceTotals => {
  let [offered, taken] = [0, 0]
  try {
    for (const { slices } of pools)
      for (const pooled of slices.flatMap(({ devices }) => devices)) {
        if (!reaches(pooled.reach, node) || !selectorsMatch('', spec.selectors, pooled)) continue
        offered++
        if (inUse.whole.has(pooled.id) || inUse.shared.has(pooled.id)) taken++
      }
  } catch {
    return { offered: 0, taken: 0 }
  }
  return { offered, taken }
}
