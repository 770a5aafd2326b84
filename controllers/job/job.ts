/** Types of Jobs and the small facts about their Pods. */

import { parseTime } from '#api/clock.js'
import { type Condition, conditionOf } from '#api/conditions.js'
import { deletionAskedAt } from '#api/grace-period.js'
import type { LabelSelector } from '#api/label-selector.js'
import type { NamespacedObject, ObjectMeta } from '#api/object.js'
import { isSidecar } from '#api/pod-resources.js'
import { type ContainerStatus, isPodTerminal, isTerminating, type Pod } from '#client/pod.js'
import { parseCount } from '../pods/parse-count.js'
import type { PodTemplate } from '../pods/pod-control.js'

export interface Job extends NamespacedObject {
  spec: {
    parallelism?: number
    completions?: number
    completionMode?: string
    backoffLimit?: number
    activeDeadlineSeconds?: number
    suspend?: boolean
    selector?: LabelSelector
    template: PodTemplate
    podReplacementPolicy?: string
    podFailurePolicy?: { rules: FailureRule[] }
    backoffLimitPerIndex?: number
    maxFailedIndexes?: number
    successPolicy?: { rules: { succeededIndexes?: string; succeededCount?: number }[] }
    ttlSecondsAfterFinished?: number
    managedBy?: string
  }
  status: JobStatus
}
export interface FailureRule {
  action: string
  onExitCodes?: { containerName?: string; operator: string; values: number[] }
  onPodConditions?: { type: string; status?: string }[]
}
export interface JobStatus {
  active?: number
  ready?: number
  terminating?: number
  succeeded?: number
  failed?: number
  startTime?: string
  completionTime?: string
  completedIndexes?: string
  failedIndexes?: string
  uncountedTerminatedPods?: { succeeded?: string[]; failed?: string[] }
  conditions?: Condition[]
}
export interface JobTemplate {
  metadata?: ObjectMeta
  spec: Job['spec']
}

export const trackingFinalizer = 'batch.kubernetes.io/job-tracking'
export const indexLabel = 'batch.kubernetes.io/job-completion-index'

export const isIndexed = (job: Job): boolean => job.spec.completionMode === 'Indexed'
export const isTracked = (pod: Pod): boolean =>
  (pod.metadata.finalizers ?? []).includes(trackingFinalizer)
/** -1 where none is told. */
export const indexOf = (pod: Pod): number =>
  parseCount(pod.metadata.annotations?.[indexLabel]) ?? -1

/** A Pod is replaced only when it has really ended, not as soon as it is asked to. */
export const onlyReplaceFailed = (job: Job): boolean =>
  job.spec.podReplacementPolicy === 'Failed' || job.spec.podFailurePolicy !== undefined
export const hasSucceeded = (pod: Pod): boolean => pod.status?.phase === 'Succeeded'
/** A Pod that is being deleted will not succeed any more, unless the Job wants to wait and see. */
export const hasFailed = (job: Job, pod: Pod): boolean =>
  pod.status?.phase === 'Failed' ||
  (!onlyReplaceFailed(job) && isTerminating(pod) && !hasSucceeded(pod))
export const isOver = (job: Job, pod: Pod): boolean => hasSucceeded(pod) || hasFailed(job, pod)
export const isEnding = (pod: Pod): boolean => isTerminating(pod) && !isPodTerminal(pod)

/** When the last of them ended, or `before` if that was later; undefined while one has not. */
const lastEnd = (statuses: ContainerStatus[], before?: number): number | undefined => {
  // Go writes null for a time that nobody gave.
  const ends = statuses.map(({ state }) => state?.terminated?.finishedAt ?? undefined)
  if (!ends.every((at) => at !== undefined)) return undefined
  return ends.reduce((last, at) => Math.max(last ?? 0, parseTime(at)), before)
}

/** When the containers ended; else when the Pod was not ready any more, or was asked to go. Upstream: getFinishedTime. */
export const finishedAt = (pod: Pod): number => {
  const { containerStatuses = [], initContainerStatuses = [] } = pod.status ?? {}
  const sidecars = (pod.spec.initContainers ?? []).filter(isSidecar).map(({ name }) => name)
  const ended = lastEnd(
    initContainerStatuses.filter(({ name }) => sidecars.includes(name)),
    lastEnd(containerStatuses),
  )
  if (ended !== undefined) return ended
  const ready = conditionOf(pod, 'Ready')
  if (ready?.status === 'False' && ready.lastTransitionTime)
    return parseTime(ready.lastTransitionTime)
  return deletionAskedAt(pod) ?? (parseTime(pod.metadata.creationTimestamp ?? '') || 0)
}

export const conditionIn = (job: { status?: JobStatus }, type: string): Condition | undefined =>
  job.status?.conditions?.find((c) => c.type === type && c.status === 'True')
/** How it ends is known, though Pods may still run. */
export const isDecided = (job: { status?: JobStatus }): boolean =>
  conditionIn(job, 'FailureTarget') !== undefined ||
  conditionIn(job, 'SuccessCriteriaMet') !== undefined
export const isFinished = (job: { status?: JobStatus }): boolean =>
  conditionIn(job, 'Complete') !== undefined || conditionIn(job, 'Failed') !== undefined

type Interval = readonly [first: number, last: number]

/** `0-2,5` → 0 to 2, 5 to 5. */
export const intervalsOf = (text: string | undefined): Interval[] =>
  (text ?? '')
    .split(',')
    .filter(Boolean)
    .map((part) => {
      const [first = 0, last = first] = part.split('-').map(Number)
      return [first, last]
    })

/** `0-2,5` ↔ {0,1,2,5}. Of what has happened only: what is asked for may be thousands of millions. */
export const parseIndexes = (text: string | undefined): Set<number> => {
  const indexes = new Set<number>()
  for (const [first, last] of intervalsOf(text)) for (let i = first; i <= last; i++) indexes.add(i)
  return indexes
}
/** A run of two is written `0,1`, a longer one `0-2`. */
export const formatIndexes = (indexes: ReadonlySet<number>): string => {
  const sorted = [...indexes].sort((a, b) => a - b)
  const parts: string[] = []
  for (let i = 0; i < sorted.length; i++) {
    const first = sorted[i]!
    while (sorted[i + 1] === sorted[i]! + 1) i++
    const last = sorted[i]!
    if (last === first) parts.push(String(first))
    else parts.push(last === first + 1 ? `${first},${last}` : `${first}-${last}`)
  }
  return parts.join(',')
}
