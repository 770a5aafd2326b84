/**
 * One round of a StatefulSet, pure: its Pods → what may be done now. The rule above all: a Pod is made only when no
 * object of its name is there, and none is ever deleted by force (kubernetes, stateful_set_control.go).
 */
import { conditionOf } from '#api/conditions.js'
import { isPodRunningAndReady, isPodTerminal, isTerminating, type Pod } from '#client/pod.js'
import { limits } from '#limits'
import { isPodAvailable } from '../pods/availability.js'
import { revisionOf } from '../pods/revisions.js'
import { counted } from '../replicaset/reconcile.js'
import { hasItsLabels, ordinalOf, type StatefulSet } from './identity.js'

/** Of an ordinal's claims: one is stale when it still belongs to a Pod that is gone. */
export type ClaimState = 'ready' | 'missing' | 'terminating' | 'stale'
export interface Observed {
  set: StatefulSet
  /** Those that the set controls. */
  pods: readonly Pod[]
  currentRevision: string
  updateRevision: string
  claims(ordinal: number): ClaimState
  now: number
}
export type Action =
  | { do: 'create'; ordinal: number; revision: string }
  | { do: 'claims'; ordinal: number }
  /** Gives the Pod what makes it the set's: its labels, its claims and their owners. */
  | { do: 'keep'; pod: Pod }
  /** Sets the owners of the claims of a Pod that waits for them, or that is beyond the size, before it goes. */
  | { do: 'ownClaims'; pod: Pod }
  | { do: 'delete'; pod: Pod }

const startOf = (set: StatefulSet): number => set.spec.ordinals?.start ?? 0
const sizeOf = (set: StatefulSet): number => set.spec.replicas ?? 1
const isOrdered = (set: StatefulSet): boolean => set.spec.podManagementPolicy !== 'Parallel'
const hasClaims = (set: StatefulSet): boolean => (set.spec.volumeClaimTemplates ?? []).length > 0
const partitionOf = (set: StatefulSet): number =>
  set.spec.updateStrategy?.rollingUpdate?.partition ?? 0

interface Round {
  observed: Observed
  /** By their index in the set: a size of thousands of millions may be asked for. */
  replicas: ReadonlyMap<number, Pod>
  /** Pods beyond the size, highest ordinal first. */
  condemned: Pod[]
  firstUnhealthy: Pod | undefined
  isHealthy(pod: Pod): boolean
}

const sortOut = (observed: Observed): Round => {
  const { set, pods, now } = observed
  const start = startOf(set)
  const replicas = new Map<number, Pod>()
  const beyond: Pod[] = []
  const inOrder = [...pods].sort((a, b) => ordinalOf(set, a) - ordinalOf(set, b))
  for (const pod of inOrder) {
    const ordinal = ordinalOf(set, pod)
    if (ordinal >= start && ordinal < start + sizeOf(set)) replicas.set(ordinal - start, pod)
    else if (ordinal >= 0) beyond.push(pod)
  }
  const isHealthy = (pod: Pod): boolean =>
    isPodRunningAndReady(pod) &&
    !isTerminating(pod) &&
    isPodAvailable(pod, set.spec.minReadySeconds ?? 0, now)
  const firstUnhealthy = [...replicas.values(), ...beyond].find((pod) => !isHealthy(pod))
  return { observed, replicas, condemned: beyond.reverse(), firstUnhealthy, isHealthy }
}

/** Below the partition the old template stays; the rest is made by the new one. */
const revisionFor = (
  { set, currentRevision, updateRevision }: Observed,
  ordinal: number,
): string =>
  set.spec.updateStrategy?.type !== 'OnDelete' && ordinal < startOf(set) + partitionOf(set)
    ? currentRevision
    : updateRevision

/** True: this round ends here, what follows has to wait. */
const growOne = (round: Round, index: number, actions: Action[]): boolean => {
  const { observed } = round
  const { set } = observed
  const ordered = isOrdered(set)
  const ordinal = startOf(set) + index
  const pod = round.replicas.get(index)
  const claims = observed.claims(ordinal)
  if (pod === undefined) {
    // A claim of the predecessor that is going away must not be taken over.
    if (claims === 'stale') return ordered
    if (claims !== 'ready') actions.push({ do: 'claims', ordinal })
    if (claims === 'terminating') return ordered
    actions.push({ do: 'create', ordinal, revision: revisionFor(observed, ordinal) })
    return ordered
  }
  if (isPodTerminal(pod)) {
    if (!isTerminating(pod)) actions.push({ do: 'delete', pod })
    return ordered
  }
  if (pod.status?.phase === 'Pending') {
    if (claims === 'missing') actions.push({ do: 'claims', ordinal })
    if (hasClaims(set)) actions.push({ do: 'ownClaims', pod })
  }
  if (ordered && !round.isHealthy(pod)) return true
  if (!hasItsLabels(pod) || hasClaims(set)) actions.push({ do: 'keep', pod })
  return false
}

const shrink = (round: Round, actions: Action[]): boolean => {
  const ordered = isOrdered(round.observed.set)
  for (const pod of round.condemned) {
    if (isTerminating(pod)) {
      if (ordered) return true
      continue
    }
    // An unhealthy one elsewhere blocks the scaling down, unless it is this one that goes first.
    if (ordered && !round.isHealthy(pod) && pod !== round.firstUnhealthy) return true
    actions.push({ do: 'delete', pod })
    if (ordered) return true
  }
  return false
}

/** From the highest ordinal down to the partition: an outdated Pod goes, and has to come back before the next one does. */
const update = (round: Round, actions: Action[]): void => {
  const { set, updateRevision } = round.observed
  if (set.spec.updateStrategy?.type === 'OnDelete') return
  for (let index = sizeOf(set) - 1; index >= partitionOf(set); index--) {
    const pod = round.replicas.get(index)
    if (pod === undefined) return
    if (revisionOf(pod) !== updateRevision && !isTerminating(pod)) {
      actions.push({ do: 'delete', pod })
      return
    }
    if (!round.isHealthy(pod)) return
  }
}

export const planStatefulSet = (observed: Observed): Action[] => {
  if (observed.set.metadata.deletionTimestamp !== undefined) return []
  const round = sortOut(observed)
  const actions: Action[] = []
  // Those that are missing, however many, are made some at a time: each that comes brings the next round.
  const first = round.replicas.size + limits.replicaBurstMax
  const size = sizeOf(observed.set)
  for (let index = 0; index < Math.min(size, first); index++)
    if (growOne(round, index, actions)) return actions
  if (first < size) return actions
  // Not only of the one that is deleted now: others may be gone before it is their turn.
  if (hasClaims(observed.set))
    for (const pod of round.condemned) actions.push({ do: 'ownClaims', pod })
  if (shrink(round, actions)) return actions
  update(round, actions)
  return actions
}

export const statefulSetStatus = (
  observed: Observed,
  collisionCount: number | undefined,
): StatefulSet['status'] => {
  const { set, pods, now, updateRevision } = observed
  let { currentRevision } = observed
  const live = pods.filter((p) => !isTerminating(p))
  const ready = pods.filter(isPodRunningAndReady)
  const created = pods.filter((p) => conditionOf(p, 'PodScheduled') || p.status?.phase)
  const updated = live.filter((p) => revisionOf(p) === updateRevision).length
  let current = live.filter((p) => revisionOf(p) === currentRevision).length
  const isComplete =
    set.spec.updateStrategy?.type !== 'OnDelete' &&
    updated === created.length &&
    created.length === sizeOf(set) &&
    ready.length === created.length
  if (isComplete) {
    currentRevision = updateRevision
    current = updated
  }
  return {
    observedGeneration: set.metadata.generation ?? 0,
    replicas: created.length,
    ...counted({
      readyReplicas: ready.length,
      currentReplicas: current,
      updatedReplicas: updated,
    }),
    availableReplicas: ready.filter((p) => isPodAvailable(p, set.spec.minReadySeconds ?? 0, now))
      .length,
    currentRevision,
    updateRevision,
    collisionCount: collisionCount ?? 0,
    ...(set.status?.conditions ? { conditions: set.status.conditions } : {}),
  }
}
