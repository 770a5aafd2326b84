/** How many Pods there are and should be → which to make and end, and the status that says so. Pure. */
import { formatTime } from '#api/clock.js'
import type { Condition } from '#api/conditions.js'
import { matchesLabels } from '#api/label-selector.js'
import type { NamespacedObject } from '#api/object.js'
import { isPodActive, isPodReady, isPodTerminal, type Pod } from '#client/pod.js'
import { jsonEqual } from '#json/object.js'
import { limits } from '#limits'
import { isPodAvailable } from '../pods/availability.js'
import type { PodTemplate } from '../pods/pod-control.js'
import { rankForDeletion } from '../pods/rank.js'

export interface ReplicaSetStatus {
  replicas: number
  fullyLabeledReplicas?: number
  readyReplicas?: number
  availableReplicas?: number
  terminatingReplicas?: number
  observedGeneration?: number
  conditions?: Condition[]
}
/** ReplicaSet and ReplicationController; their selectors differ. */
export interface ReplicaSet extends NamespacedObject {
  spec: {
    replicas?: number
    minReadySeconds?: number
    selector: never
    template: PodTemplate
  }
  status: ReplicaSetStatus
}

export interface ReplicaPlan {
  create: number
  delete: Pod[]
}

/** `pods` are those that the set controls; `related` those of all sets of its controller, asked for when some have to go. */
export const planReplicas = (
  set: ReplicaSet,
  pods: readonly Pod[],
  { related, now }: { related: () => readonly Pod[]; now: number },
): ReplicaPlan => {
  const active = pods.filter(isPodActive)
  const surplus = active.length - (set.spec.replicas ?? 1)
  if (set.metadata.deletionTimestamp !== undefined) return { create: 0, delete: [] }
  if (surplus < 0) return { create: Math.min(-surplus, limits.replicaBurstMax), delete: [] }
  if (surplus === 0) return { create: 0, delete: [] }
  const ranked = rankForDeletion(active, { related: related(), now })
  return { create: 0, delete: ranked.slice(0, Math.min(surplus, limits.replicaBurstMax)) }
}

const failureCondition = (
  conditions: readonly Condition[],
  failure: { reason: string; message: string } | undefined,
  now: number,
): Condition[] => {
  const others = conditions.filter((c) => c.type !== 'ReplicaFailure')
  if (failure === undefined) return others
  // One that is there stays until nothing fails, whatever has failed since.
  if (others.length < conditions.length) return [...conditions]
  return [
    ...others,
    {
      type: 'ReplicaFailure',
      status: 'True',
      lastTransitionTime: formatTime(now),
      ...failure,
    },
  ]
}

/** Zero counts are left out, as the server shows them. */
export const counted = (counts: Record<string, number>): Record<string, number> =>
  Object.fromEntries(Object.entries(counts).filter(([, n]) => n > 0))

/** The status as it should be, or undefined when the one there is right. */
export const replicaStatus = (
  set: ReplicaSet,
  pods: readonly Pod[],
  { now, failure }: { now: number; failure?: { reason: string; message: string } | undefined },
): ReplicaSetStatus | undefined => {
  const active = pods.filter(isPodActive)
  const labels = set.spec.template.metadata?.labels ?? {}
  const ready = active.filter(isPodReady)
  const conditions = failureCondition(set.status?.conditions ?? [], failure, now)
  const terminating = pods.filter(
    (pod) => pod.metadata.deletionTimestamp !== undefined && !isPodTerminal(pod),
  ).length
  const status: ReplicaSetStatus = {
    replicas: active.length,
    ...counted({
      fullyLabeledReplicas: active.filter((p) => matchesLabels(labels, p.metadata.labels)).length,
      readyReplicas: ready.length,
      availableReplicas: ready.filter((p) => isPodAvailable(p, set.spec.minReadySeconds ?? 0, now))
        .length,
    }),
    // ReplicationControllers have no such field.
    ...(set.kind === 'ReplicaSet' ? { terminatingReplicas: terminating } : {}),
    observedGeneration: set.metadata.generation ?? 0,
    ...(conditions.length > 0 ? { conditions } : {}),
  }
  return isSameStatus(set.status, status) ? undefined : status
}

const isSameStatus = (a: ReplicaSetStatus | undefined, b: ReplicaSetStatus): boolean => {
  const plain = (s: ReplicaSetStatus | undefined) => ({
    ...counted({ ...s, conditions: 0 }),
    conditions: s?.conditions ?? [],
  })
  return a !== undefined && jsonEqual(plain(a), plain(b))
}
