/** Types and small facts of Deployments and their ReplicaSets. */

import { type Condition, conditionOf } from '#api/conditions.js'
import type { LabelSelector } from '#api/label-selector.js'
import type { NamespacedObject, PersistedObject } from '#api/object.js'
import { parseInt64 } from '#json/int64.js'
import { jsonEqual } from '#json/object.js'
import { byAge } from '../by-age.js'
import type { PodTemplate } from '../pods/pod-control.js'
import { scaled } from '../pods/scaled.js'
import type { ReplicaSetStatus } from '../replicaset/reconcile.js'

type IntOrPercent = number | string

export interface Deployment extends NamespacedObject {
  spec: {
    replicas?: number
    selector: LabelSelector
    template: PodTemplate
    strategy?: {
      type?: string
      rollingUpdate?: { maxUnavailable?: IntOrPercent; maxSurge?: IntOrPercent }
    }
    minReadySeconds?: number
    revisionHistoryLimit?: number
    paused?: boolean
    progressDeadlineSeconds?: number
  }
  status: DeploymentStatus
}
export interface DeploymentStatus {
  observedGeneration?: number
  replicas?: number
  updatedReplicas?: number
  readyReplicas?: number
  availableReplicas?: number
  unavailableReplicas?: number
  terminatingReplicas?: number
  collisionCount?: number
  conditions?: Condition[]
}
export interface OwnedSet extends NamespacedObject {
  spec: {
    replicas?: number
    minReadySeconds?: number
    selector: LabelSelector
    template: PodTemplate
  }
  status: ReplicaSetStatus
}

export const hashLabel = 'pod-template-hash'
export const revisionAnnotation = 'deployment.kubernetes.io/revision'
export const revisionHistoryAnnotation = 'deployment.kubernetes.io/revision-history'
export const desiredAnnotation = 'deployment.kubernetes.io/desired-replicas'
export const maxAnnotation = 'deployment.kubernetes.io/max-replicas'

export const replicasOf = (object: { spec: { replicas?: number } }): number =>
  object.spec.replicas ?? 1
/** Of 64 bits: more than a number holds. */
export const revisionOf = (object: PersistedObject): bigint =>
  parseInt64(object.metadata.annotations?.[revisionAnnotation] ?? '') ?? 0n
export const sumReplicas = (sets: readonly OwnedSet[]): number =>
  sets.reduce((sum, set) => sum + replicasOf(set), 0)
export const sumStatus = (
  sets: readonly OwnedSet[],
  field: 'replicas' | 'readyReplicas' | 'availableReplicas' | 'terminatingReplicas',
): number => sets.reduce((sum, set) => sum + (set.status?.[field] ?? 0), 0)

const withoutHash = (template: PodTemplate): unknown => {
  const { [hashLabel]: _hash, ...labels } = template.metadata?.labels ?? {}
  return { ...template, metadata: { ...template.metadata, labels } }
}

/** Whether two templates make the same Pods; our own label aside. */
export const isSameTemplate = (a: PodTemplate, b: PodTemplate): boolean =>
  jsonEqual(withoutHash(a), withoutHash(b))

/** The set of the present template: the oldest, should there be several. */
export const findNewSet = (
  deployment: Deployment,
  sets: readonly OwnedSet[],
): OwnedSet | undefined =>
  [...sets].sort(byAge).find((s) => isSameTemplate(s.spec.template, deployment.spec.template))

export const sortByAge = <T extends PersistedObject>(objects: readonly T[]): T[] =>
  [...objects].sort(byAge)

/** Fenceposts of a rolling update; both zero would never move, so one may then be missing. */
export const rollingLimits = (
  deployment: Deployment,
): { maxSurge: number; maxUnavailable: number } => {
  const { rollingUpdate, type } = deployment.spec.strategy ?? {}
  if (type === 'Recreate') return { maxSurge: 0, maxUnavailable: 0 }
  const total = replicasOf(deployment)
  const maxSurge = scaled(rollingUpdate?.maxSurge ?? '25%', total, true)
  const unavailable = scaled(rollingUpdate?.maxUnavailable ?? '25%', total, false)
  const maxUnavailable = maxSurge === 0 && unavailable === 0 ? 1 : unavailable
  return { maxSurge, maxUnavailable: Math.min(maxUnavailable, total) }
}

/** The condition that tells how the rollout goes. */
export const progressing = (status: DeploymentStatus | undefined) =>
  conditionOf({ status }, 'Progressing')
