/** Whether a driver that tells how much storage it has could still make a volume for a node. */

import { type LabelSelector, matchesSelector } from '#api/label-selector.js'
import type { NamespacedObject } from '#api/object.js'
import { parseMilli } from '#client/amount.js'
import type { CsiDriver } from '#client/csi-objects.js'
import { type Claim, classOf } from '#client/persistent-volume.js'
import type { Node } from '#client/pod.js'

export interface CsiStorageCapacity extends NamespacedObject {
  storageClassName: string
  nodeTopology?: LabelSelector
  capacity?: string
  maximumVolumeSize?: string
}

/** In thousandths; below zero where nothing is known. Upstream: volumeLimit. */
export const largestVolume = ({
  capacity,
  maximumVolumeSize = capacity,
}: CsiStorageCapacity): bigint =>
  maximumVolumeSize === undefined ? -1n : parseMilli(maximumVolumeSize)

/** Upstream: hasEnoughCapacity. */
export const hasCapacity = (
  claim: Claim,
  { metadata }: Node,
  driver: CsiDriver | undefined,
  capacities: readonly CsiStorageCapacity[],
): boolean => {
  const wanted = claim.spec.resources?.requests?.storage
  if (wanted === undefined || driver?.spec.storageCapacity !== true) return true
  return capacities.some(
    (one) =>
      one.storageClassName === classOf(claim) &&
      largestVolume(one) >= parseMilli(wanted) &&
      matchesSelector(one.nodeTopology, metadata.labels),
  )
}
