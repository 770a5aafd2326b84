/** Volumes for claims that waited to know the node of their Pod. Upstream: VolumeBinding's FindPodVolumes. */
import { matchesNodeSelector } from '#client/node-affinity.js'
import {
  type Claim,
  classOf,
  compareSizes,
  findVolume,
  type StorageClass,
  selectedNode,
  type Volume,
} from '#client/persistent-volume.js'
import type { Node } from '#client/pod.js'
import type { Waiting } from './volume-claims.js'

/** A class with this provisioner makes no volumes: existing ones have to do. */
const noProvisioner = 'kubernetes.io/no-provisioner'

const unboundProblem = "node(s) didn't find available persistent volumes to bind"

/** A term without any labels is met by no node. */
const isAllowed = ({ allowedTopologies = [] }: StorageClass, { metadata }: Node): boolean =>
  allowedTopologies.length === 0 ||
  allowedTopologies.some(
    ({ matchLabelExpressions: expressions = [] }) =>
      expressions.length > 0 &&
      expressions.every(({ key, values }) => values.includes(metadata.labels?.[key] ?? '')),
  )

export interface Storage {
  /** What is not promised to others. */
  volumes: readonly Volume[]
  /** Whether one could still be made. */
  hasCapacity(claim: Claim, storageClass: StorageClass, node: Node): boolean
}

/**
 * For each claim the volume that is there for it on the node, or undefined when one is to be made. The smallest claim
 * comes first. When one can get none, why, in upstream's words.
 */
export const volumesOnNode = (
  waiting: readonly Waiting[],
  node: Node,
  { volumes, hasCapacity }: Storage,
): Map<Claim, Volume | undefined> | string => {
  const asked = ({ metadata }: Claim) => metadata.annotations?.[selectedNode]
  if (waiting.some(({ claim }) => ![undefined, node.metadata.name].includes(asked(claim))))
    return unboundProblem
  // Those that a volume is made for already come first, then the small ones.
  const inOrder = [
    ...waiting.filter(({ claim }) => asked(claim) !== undefined),
    ...waiting
      .filter(({ claim }) => asked(claim) === undefined)
      .sort((a, b) => compareSizes(a.claim, b.claim)),
  ]
  const chosen = new Map<Claim, Volume | undefined>()
  const suits = (v: Volume): boolean => matchesNodeSelector(v.spec.nodeAffinity?.required, node)
  let free = volumes
  for (const { claim } of inOrder) {
    // Upstream looks at volumes of the claim's class only, even if one of another is meant for it.
    const alike = free.filter((v) => classOf(v) === classOf(claim))
    const volume = asked(claim) === undefined ? findVolume(claim, alike, suits) : undefined
    chosen.set(claim, volume)
    free = free.filter((v) => v !== volume)
  }
  for (const { claim, storageClass } of inOrder) {
    if (chosen.get(claim) !== undefined) continue
    if (storageClass.provisioner === noProvisioner || !isAllowed(storageClass, node))
      return unboundProblem
    if (!hasCapacity(claim, storageClass, node)) return 'node(s) did not have enough free storage'
  }
  return chosen
}
