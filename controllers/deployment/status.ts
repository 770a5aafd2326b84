/** Computes the status of a Deployment: counts and conditions, with upstream's texts. Pure. */
import { formatTime, parseTime } from '#api/clock.js'
import { type Condition, conditionOf, sinceWhen } from '#api/conditions.js'
import { zeroTime } from '#go/zero-time.js'
import {
  type Deployment,
  type DeploymentStatus,
  type OwnedSet,
  progressing,
  replicasOf,
  rollingLimits,
  sumReplicas,
  sumStatus,
} from './deployment.js'

const noDeadline = 2 ** 31 - 1

const counts = (
  deployment: Deployment,
  newSet: OwnedSet | undefined,
  all: readonly OwnedSet[],
): DeploymentStatus => {
  const availableReplicas = sumStatus(all, 'availableReplicas')
  const unavailable = Math.max(0, sumReplicas(all) - availableReplicas)
  const numbers = {
    observedGeneration: deployment.metadata.generation ?? 0,
    replicas: sumStatus(all, 'replicas'),
    updatedReplicas: newSet?.status?.replicas ?? 0,
    readyReplicas: sumStatus(all, 'readyReplicas'),
    availableReplicas,
    unavailableReplicas: unavailable,
    collisionCount: deployment.status?.collisionCount ?? 0,
  }
  return {
    ...Object.fromEntries(Object.entries(numbers).filter(([, n]) => n > 0)),
    terminatingReplicas: sumStatus(all, 'terminatingReplicas'),
  }
}

const isComplete = (deployment: Deployment, status: DeploymentStatus): boolean =>
  (status.updatedReplicas ?? 0) === replicasOf(deployment) &&
  (status.replicas ?? 0) === replicasOf(deployment) &&
  (status.availableReplicas ?? 0) === replicasOf(deployment)

const isProgressing = (deployment: Deployment, next: DeploymentStatus): boolean => {
  const before = deployment.status ?? {}
  const old = (s: DeploymentStatus): number => (s.replicas ?? 0) - (s.updatedReplicas ?? 0)
  return (
    (next.updatedReplicas ?? 0) > (before.updatedReplicas ?? 0) ||
    old(next) < old(before) ||
    (next.readyReplicas ?? 0) > (before.readyReplicas ?? 0) ||
    (next.availableReplicas ?? 0) > (before.availableReplicas ?? 0)
  )
}

/** A condition that was written by hand may lack the time: it is long ago. */
const updatedAt = (condition: Condition): number => parseTime(condition.lastUpdateTime ?? zeroTime)

/** Nothing moved for progressDeadlineSeconds. */
const isTimedOut = (
  { spec }: Deployment,
  condition: Condition | undefined,
  now: number,
): boolean => {
  const seconds = spec.progressDeadlineSeconds ?? noDeadline
  if (seconds === noDeadline || condition === undefined) return false
  if (condition.reason === 'NewReplicaSetAvailable') return false
  if (condition.reason === 'ProgressDeadlineExceeded') return true
  return updatedAt(condition) + seconds * 1000 < now
}

export const hasDeadline = ({ spec }: Deployment): boolean =>
  (spec.progressDeadlineSeconds ?? noDeadline) !== noDeadline

/** Milliseconds until the progress deadline. */
export const msUntilDeadline = (deployment: Deployment, now: number): number | undefined => {
  const seconds = deployment.spec.progressDeadlineSeconds ?? noDeadline
  const condition = progressing(deployment.status)
  if (seconds === noDeadline || condition === undefined) return undefined
  if (condition.reason === 'NewReplicaSetAvailable') return undefined
  if (condition.reason === 'ProgressDeadlineExceeded') return undefined
  return Math.max(0, updatedAt(condition) + seconds * 1000 - now) + 1000
}

interface Wanted {
  type: string
  status: 'True' | 'False' | 'Unknown'
  reason: string
  message: string
}

/** Keeps a condition that says the same, unless it is to be marked as fresh; what is said last stands last. */
const put = (
  conditions: readonly Condition[],
  wanted: Wanted,
  now: string,
  refresh = false,
): Condition[] => {
  const known = conditions.find((c) => c.type === wanted.type)
  if (known?.status === wanted.status && known.reason === wanted.reason && !refresh)
    return [...conditions]
  const lastTransitionTime = sinceWhen(known, wanted.status, now)
  const { type, ...rest } = wanted
  const next: Condition = { type, ...rest, lastUpdateTime: now, lastTransitionTime }
  return [...conditions.filter((c) => c !== known), next]
}

const progressOf = (
  deployment: Deployment,
  newSet: OwnedSet | undefined,
  next: DeploymentStatus,
  now: number,
): { wanted: Wanted; refresh: boolean } | undefined => {
  if (!hasDeadline(deployment)) return undefined
  const subject = newSet
    ? `ReplicaSet "${newSet.metadata.name}"`
    : `Deployment "${deployment.metadata.name}"`
  const known = progressing(deployment.status)
  const condition = (status: Wanted['status'], reason: string, what: string): Wanted => ({
    type: 'Progressing',
    status,
    reason,
    message: `${subject} ${what}`,
  })
  if (
    known?.reason === 'NewReplicaSetAvailable' &&
    (next.updatedReplicas ?? 0) === (next.replicas ?? 0)
  )
    return undefined
  if (isComplete(deployment, next))
    return {
      wanted: condition('True', 'NewReplicaSetAvailable', 'has successfully progressed.'),
      refresh: false,
    }
  if (isProgressing(deployment, next))
    return { wanted: condition('True', 'ReplicaSetUpdated', 'is progressing.'), refresh: true }
  // Since a resume of this round, too: a pause does not count.
  if (isTimedOut(deployment, progressing(next), now))
    return {
      wanted: condition('False', 'ProgressDeadlineExceeded', 'has timed out progressing.'),
      refresh: false,
    }
  return undefined
}

const availability = (deployment: Deployment, next: DeploymentStatus): Wanted =>
  (next.availableReplicas ?? 0) >= replicasOf(deployment) - rollingLimits(deployment).maxUnavailable
    ? {
        type: 'Available',
        status: 'True',
        reason: 'MinimumReplicasAvailable',
        message: 'Deployment has minimum availability.',
      }
    : {
        type: 'Available',
        status: 'False',
        reason: 'MinimumReplicasUnavailable',
        message: 'Deployment does not have minimum availability.',
      }

/** Pausing stops the progress clock; resuming starts it anew. */
const pausing = (deployment: Deployment): Wanted | undefined => {
  if (!hasDeadline(deployment)) return undefined
  const known = progressing(deployment.status)
  if (known?.reason === 'ProgressDeadlineExceeded') return undefined
  const isPaused = known?.reason === 'DeploymentPaused'
  if (deployment.spec.paused && !isPaused)
    return {
      type: 'Progressing',
      status: 'Unknown',
      reason: 'DeploymentPaused',
      message: 'Deployment is paused',
    }
  if (!deployment.spec.paused && isPaused)
    return {
      type: 'Progressing',
      status: 'Unknown',
      reason: 'DeploymentResumed',
      message: 'Deployment is resumed',
    }
  return undefined
}

/** The status with a step that the Progressing condition tells of: a set was made or found, or could not be made. */
export const noted = (deployment: Deployment, note: Wanted, now: number): DeploymentStatus => ({
  ...deployment.status,
  conditions: put(deployment.status?.conditions ?? [], note, formatTime(now)),
})

interface Round {
  now: number
  /** False while it is paused, scaled or deleted: then nothing is said of its progress (upstream's syncDeploymentStatus). */
  rollsOut: boolean
}

export const deploymentStatus = (
  deployment: Deployment,
  newSet: OwnedSet | undefined,
  all: readonly OwnedSet[],
  { now, rollsOut }: Round,
): DeploymentStatus => {
  const time = formatTime(now)
  const next = counts(deployment, newSet, all)
  let conditions = deployment.status?.conditions ?? []
  const pause = pausing(deployment)
  if (pause !== undefined) conditions = put(conditions, pause, time)
  conditions = put(conditions, availability(deployment, next), time)
  if (!rollsOut) return { ...next, conditions }
  if (!hasDeadline(deployment)) conditions = conditions.filter((c) => c.type !== 'Progressing')
  const progress = progressOf(deployment, newSet, { ...next, conditions }, now)
  if (progress !== undefined) conditions = put(conditions, progress.wanted, time, progress.refresh)
  return { ...next, conditions: withReplicaFailure(conditions, newSet, all, time) }
}

const withReplicaFailure = (
  conditions: readonly Condition[],
  newSet: OwnedSet | undefined,
  all: readonly OwnedSet[],
  time: string,
): Condition[] => {
  const failureOf = (set: OwnedSet | undefined) => conditionOf(set, 'ReplicaFailure')
  const failure = failureOf(newSet) ?? all.map(failureOf).find((c) => c !== undefined)
  if (failure === undefined) return conditions.filter((c) => c.type !== 'ReplicaFailure')
  const { reason = '', message = '', lastTransitionTime } = failure
  const wanted: Wanted = { type: 'ReplicaFailure', status: 'True', reason, message }
  return put(conditions, wanted, lastTransitionTime ?? time)
}

/** A set was made, or one with this template was found. */
export const setNote = (set: { metadata: { name?: string } }, made: boolean): Wanted =>
  made
    ? {
        type: 'Progressing',
        status: 'True',
        reason: 'NewReplicaSetCreated',
        message: `Created new replica set "${set.metadata.name}"`,
      }
    : {
        type: 'Progressing',
        status: 'True',
        reason: 'FoundNewReplicaSet',
        message: `Found new replica set "${set.metadata.name}"`,
      }

export const failedNote = (message: string): Wanted => ({
  type: 'Progressing',
  status: 'False',
  reason: 'ReplicaSetCreateError',
  message,
})
