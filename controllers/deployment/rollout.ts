/** Which ReplicaSet to scale next, by strategy. Pure: sets as they are → new sizes. */
import { parseCount } from '../pods/parse-count.js'
import {
  type Deployment,
  desiredAnnotation,
  maxAnnotation,
  type OwnedSet,
  replicasOf,
  rollingLimits,
  sortByAge,
  sumReplicas,
  sumStatus,
} from './deployment.js'
import { newSetReplicas } from './new-set.js'

export interface Scale {
  set: OwnedSet
  replicas: number
}

const available = (set: OwnedSet): number => set.status?.availableReplicas ?? 0
const sizeIn = (set: OwnedSet, annotation: string): number | undefined =>
  parseCount(set.metadata.annotations?.[annotation])
const scale = (set: OwnedSet, replicas: number): Scale[] =>
  replicasOf(set) === replicas ? [] : [{ set, replicas }]

/** One step of a rolling update: the new set up first; when it cannot grow, old ones down. */
export const rollingStep = (
  deployment: Deployment,
  newSet: OwnedSet,
  oldSets: readonly OwnedSet[],
): Scale[] => {
  const wanted = replicasOf(deployment)
  const current = replicasOf(newSet)
  const grown =
    current > wanted ? wanted : newSetReplicas(deployment, [...oldSets, newSet], current)
  const up = scale(newSet, grown)
  return up.length > 0 ? up : scaleOldDown(deployment, newSet, oldSets)
}

const scaleOldDown = (
  deployment: Deployment,
  newSet: OwnedSet,
  oldSets: readonly OwnedSet[],
): Scale[] => {
  const olds = oldSets.filter((s) => replicasOf(s) > 0)
  if (olds.length === 0) return []
  const all = [...olds, newSet]
  const minAvailable = replicasOf(deployment) - rollingLimits(deployment).maxUnavailable
  const newUnavailable = replicasOf(newSet) - available(newSet)
  const maxDown = sumReplicas(all) - minAvailable - newUnavailable
  if (maxDown <= 0) return []
  const sizes = new Map(olds.map((set) => [set, replicasOf(set)]))
  // Pods that do not work go first: taking them away costs nothing.
  drop(sizes, maxDown, (set, size) => Math.max(0, size - available(set)))
  const spare = sumStatus(all, 'availableReplicas') - minAvailable
  drop(sizes, Math.max(0, spare), (_set, size) => size)
  return [...sizes].flatMap(([set, size]) => scale(set, size))
}

/** Takes away at most `max` in all, of each set no more than `mayGo`, the oldest set first. */
const drop = (
  sizes: Map<OwnedSet, number>,
  max: number,
  mayGo: (set: OwnedSet, size: number) => number,
): void => {
  let left = max
  for (const set of sortByAge([...sizes.keys()])) {
    const size = sizes.get(set)!
    const gone = Math.min(left, mayGo(set, size))
    sizes.set(set, size - gone)
    left -= gone
  }
}

/** Everything old down to nothing; the caller makes the new set when no old Pod runs any more. */
export const recreateDown = (oldSets: readonly OwnedSet[]): Scale[] =>
  oldSets.flatMap((set) => scale(set, 0))

export const recreateUp = (deployment: Deployment, newSet: OwnedSet): Scale[] =>
  scale(newSet, replicasOf(deployment))

/** The user changed spec.replicas since the sets were last sized. */
export const isScaling = (deployment: Deployment, sets: readonly OwnedSet[]): boolean =>
  sets.some((set) => {
    const desired = sizeIn(set, desiredAnnotation)
    return replicasOf(set) > 0 && desired !== undefined && desired !== replicasOf(deployment)
  })

/** It has all Pods of the size that it was last given, which is the present one. */
const isSaturated = (deployment: Deployment, set: OwnedSet): boolean =>
  [replicasOf(set), available(set), sizeIn(set, desiredAnnotation)].every(
    (size) => size === replicasOf(deployment),
  )

/**
 * Spreads a new size over the sets of a rollout that is under way, in proportion to what each has, so that a half done
 * rollout stays half done. With one set alive it simply gets the size.
 */
export const proportionalScale = (
  deployment: Deployment,
  newSet: OwnedSet | undefined,
  oldSets: readonly OwnedSet[],
): Scale[] => {
  const all = newSet === undefined ? [...oldSets] : [newSet, ...oldSets]
  const active = all.filter((s) => replicasOf(s) > 0)
  const wanted = replicasOf(deployment)
  if (active.length <= 1) {
    const only = active[0] ?? newSet ?? sortByAge(oldSets).at(-1)
    return only === undefined ? [] : scale(only, wanted)
  }
  // The new set already carries everything: what is left of the old ones goes.
  if (newSet !== undefined && isSaturated(deployment, newSet))
    return oldSets.flatMap((set) => scale(set, 0))
  if (deployment.spec.strategy?.type === 'Recreate') return []
  return spread(deployment, active)
}

/** What a set would gain or lose if all kept their proportions. */
const shareOf = (deployment: Deployment, set: OwnedSet, allowed: number): number => {
  if (allowed === 0) return -replicasOf(set)
  const before = sizeIn(set, maxAnnotation) || deployment.status?.replicas
  return before ? Math.round((replicasOf(set) * allowed) / before) - replicasOf(set) : 0
}

const spread = (deployment: Deployment, active: readonly OwnedSet[]): Scale[] => {
  const wanted = replicasOf(deployment)
  const allowed = wanted > 0 ? wanted + rollingLimits(deployment).maxSurge : 0
  const toAdd = allowed - sumReplicas(active)
  if (toAdd === 0) return []
  // The largest first; at a tie the newest when growing, the oldest when shrinking.
  const ordered = sortByAge(active)
  if (toAdd > 0) ordered.reverse()
  ordered.sort((a, b) => replicasOf(b) - replicasOf(a))
  let added = 0
  const sizes = ordered.map((set) => {
    const left = toAdd - added
    if (left === 0) return replicasOf(set)
    const share = shareOf(deployment, set, allowed)
    const step = toAdd > 0 ? Math.min(share, left) : Math.max(share, left)
    added += step
    return replicasOf(set) + step
  })
  // Rounding leaves a rest, which the largest takes.
  sizes[0] = Math.max(0, sizes[0]! + (toAdd - added))
  return ordered.flatMap((set, i) => scale(set, sizes[i]!))
}
