/**
 * A Job and its Pods → what to count, make and end. Pure.
 * Counting survives a crash at any point: the uid of a finished Pod goes into status.uncountedTerminatedPods, then its
 * finalizer goes, then the counter grows as the uid leaves the list. Indexed successes are a set, so need no list.
 */
import { formatTime, parseTime } from '#api/clock.js'
import { type Condition, isPodReady, type Pod } from '#client/pod.js'
import { judgeFailure } from './failure-policy.js'
import {
  conditionIn,
  formatIndexes,
  indexOf,
  isIndexed,
  isTracked,
  type Job,
  type JobStatus,
  parseIndexes,
} from './job.js'

const isTerminating = (pod: Pod): boolean => pod.metadata.deletionTimestamp !== undefined
const onlyReplaceFailed = (job: Job): boolean =>
  job.spec.podReplacementPolicy === 'Failed' || job.spec.podFailurePolicy !== undefined

export const hasSucceeded = (pod: Pod): boolean => pod.status?.phase === 'Succeeded'
/** A Pod that is being deleted will not succeed any more, unless the Job wants to wait and see. */
export const hasFailed = (job: Job, pod: Pod): boolean =>
  pod.status?.phase === 'Failed' ||
  (!onlyReplaceFailed(job) && isTerminating(pod) && !hasSucceeded(pod))
const isOver = (job: Job, pod: Pod): boolean => hasSucceeded(pod) || hasFailed(job, pod)
export const isActive = (pod: Pod): boolean =>
  !isTerminating(pod) && pod.status?.phase !== 'Succeeded' && pod.status?.phase !== 'Failed'

export interface Accounting {
  /** The status with everything that is over noted, but not yet counted. */
  noted: JobStatus
  /** Pods whose finalizer may go once `noted` is stored. */
  release: Pod[]
  /** A failure that ends the Job by policy. */
  failJob: string | undefined
}

/** First half: note what is over. `job.status` may hold uids from before a crash. */
export const account = (job: Job, pods: readonly Pod[]): Accounting => {
  const status = countReleased(job.status ?? {}, pods)
  const succeeded = new Set(status.uncountedTerminatedPods?.succeeded ?? [])
  const failed = new Set(status.uncountedTerminatedPods?.failed ?? [])
  const indexes = parseIndexes(status.completedIndexes)
  const limit = job.spec.completions ?? 0
  const release: Pod[] = []
  let failJob: string | undefined
  for (const pod of pods) {
    if (!isTracked(pod)) continue
    const uid = pod.metadata.uid!
    if (hasSucceeded(pod)) {
      if (isIndexed(job)) {
        if (indexOf(pod) >= 0 && indexOf(pod) < limit) indexes.add(indexOf(pod))
      } else succeeded.add(uid)
      release.push(pod)
    } else if (hasFailed(job, pod)) {
      const verdict = judgeFailure(job, pod)
      if (verdict.action === 'FailJob') failJob ??= verdict.message
      if (verdict.action !== 'Ignore') failed.add(uid)
      release.push(pod)
    }
  }
  const noted: JobStatus = {
    ...status,
    ...(isIndexed(job)
      ? { completedIndexes: formatIndexes(indexes), succeeded: indexes.size }
      : {}),
    uncountedTerminatedPods: lists(succeeded, failed),
  }
  return { noted, release, failJob }
}

const lists = (succeeded: ReadonlySet<string>, failed: ReadonlySet<string>) => ({
  ...(succeeded.size > 0 ? { succeeded: [...succeeded] } : {}),
  ...(failed.size > 0 ? { failed: [...failed] } : {}),
})

/** Second half: what was noted and has lost its finalizer (or is gone) is counted. */
export const countReleased = (status: JobStatus, pods: readonly Pod[]): JobStatus => {
  const held = new Set(pods.filter(isTracked).map((pod) => pod.metadata.uid!))
  const split = (uids: readonly string[] = []) => ({
    wait: new Set(uids.filter((uid) => held.has(uid))),
    counted: uids.filter((uid) => !held.has(uid)).length,
  })
  const succeeded = split(status.uncountedTerminatedPods?.succeeded)
  const failed = split(status.uncountedTerminatedPods?.failed)
  return {
    ...status,
    succeeded: (status.succeeded ?? 0) + succeeded.counted,
    failed: (status.failed ?? 0) + failed.counted,
    uncountedTerminatedPods: lists(succeeded.wait, failed.wait),
  }
}

export interface Ending {
  type: 'Complete' | 'Failed'
  reason: string
  message: string
}

const restartsOf = (pods: readonly Pod[]): number =>
  pods
    .flatMap((p) => [
      ...(p.status?.containerStatuses ?? []),
      ...(p.status?.initContainerStatuses ?? []),
    ])
    .reduce((sum, s) => sum + (s.restartCount ?? 0), 0)

const total = (status: JobStatus, which: 'succeeded' | 'failed'): number =>
  (status[which] ?? 0) + (status.uncountedTerminatedPods?.[which]?.length ?? 0)

/** Whether the Job is decided; `undefined` while it goes on. */
export const endingOf = (
  job: Job,
  status: JobStatus,
  pods: readonly Pod[],
  { now, failJob }: { now: number; failJob: string | undefined },
): Ending | undefined => {
  const decided = conditionIn(job, 'FailureTarget')
  if (decided !== undefined)
    return { type: 'Failed', reason: decided.reason ?? '', message: decided.message ?? '' }
  const met = conditionIn(job, 'SuccessCriteriaMet')
  if (met !== undefined)
    return { type: 'Complete', reason: met.reason ?? '', message: met.message ?? '' }
  if (failJob !== undefined) return { type: 'Failed', reason: 'PodFailurePolicy', message: failJob }
  const active = pods.filter(isActive)
  const limit = job.spec.backoffLimit ?? 6
  // Containers that restart in place count as tries too; with a limit of 0 the first restart is one too many.
  const restarts = job.spec.template.spec.restartPolicy === 'OnFailure' ? restartsOf(active) : 0
  const restartedTooOften = restarts > 0 && restarts >= limit
  if (total(status, 'failed') > limit || restartedTooOften)
    return {
      type: 'Failed',
      reason: 'BackoffLimitExceeded',
      message: 'Job has reached the specified backoff limit',
    }
  if (msUntilDeadline(job, status, now) <= 0)
    return {
      type: 'Failed',
      reason: 'DeadlineExceeded',
      message: 'Job was active longer than specified deadline',
    }
  return isComplete(job, status, active.length)
    ? {
        type: 'Complete',
        reason: 'CompletionsReached',
        message: 'Reached expected number of succeeded pods',
      }
    : undefined
}

const isComplete = (job: Job, status: JobStatus, active: number): boolean => {
  const succeeded = total(status, 'succeeded')
  // Without completions the Pods share a queue of work: one success says that it is empty.
  if (job.spec.completions === undefined || job.spec.completions === null)
    return succeeded > 0 && active === 0
  return succeeded >= job.spec.completions
}

export const msUntilDeadline = (job: Job, status: JobStatus, now: number): number => {
  const seconds = job.spec.activeDeadlineSeconds
  if (seconds === undefined || seconds === null) return Number.POSITIVE_INFINITY
  if (job.spec.suspend || status.startTime === undefined) return Number.POSITIVE_INFINITY
  return parseTime(status.startTime) + seconds * 1000 - now
}

/** Upstream's DefaultJobPodFailureBackOff and its maximum. */
const backoffBaseMs = 10_000
const backoffMaxMs = 600_000

const finishedAt = (pod: Pod): number => {
  const times = (pod.status?.containerStatuses ?? [])
    .map((s) => s.state?.terminated?.finishedAt)
    .filter((at) => at !== undefined)
    .map((at) => parseTime(at!))
  if (times.length > 0) return Math.max(...times)
  return parseTime(pod.metadata.deletionTimestamp ?? pod.metadata.creationTimestamp ?? '') || 0
}

/** How long no new Pod may be made, by the failures since the last success. */
export const backoffMs = (job: Job, pods: readonly Pod[], now: number): number => {
  const over = pods.filter((p) => isOver(job, p)).sort((a, b) => finishedAt(b) - finishedAt(a))
  const lastSuccess = over.findIndex(hasSucceeded)
  const failures = (lastSuccess < 0 ? over : over.slice(0, lastSuccess)).filter(
    (p) => p.status?.phase === 'Failed',
  )
  if (failures.length === 0) return 0
  const wait = Math.min(backoffMaxMs, backoffBaseMs * 2 ** (failures.length - 1))
  return Math.max(0, finishedAt(failures[0]!) + wait - now)
}

export interface PodPlan {
  /** Completion indexes, or undefined for Pods without one. */
  create: (number | undefined)[]
  delete: Pod[]
  waitMs: number
}

/** Pods to make and end while the Job goes on. */
export const planPods = (
  job: Job,
  status: JobStatus,
  pods: readonly Pod[],
  now: number,
): PodPlan => {
  const active = pods.filter(isActive)
  if (job.spec.suspend) return { create: [], delete: active, waitMs: 0 }
  const succeeded = total(status, 'succeeded')
  const parallelism = job.spec.parallelism ?? 1
  const { completions } = job.spec
  const isQueue = completions === undefined || completions === null
  const wanted = isQueue
    ? succeeded > 0
      ? active.length
      : parallelism
    : Math.min(parallelism, Math.max(0, completions - succeeded))
  const extra = doubled(job, active)
  const surplus = active.length - extra.length - wanted
  if (surplus > 0)
    return { create: [], delete: [...extra, ...leastFar(active, surplus)], waitMs: 0 }
  const ending = onlyReplaceFailed(job)
    ? pods.filter((p) => isTerminating(p) && !isOver(job, p)).length
    : 0
  const missing = Math.max(0, -surplus - ending)
  const waitMs = missing > 0 ? backoffMs(job, pods, now) : 0
  if (missing === 0 || waitMs > 0) return { create: [], delete: extra, waitMs }
  if (!isIndexed(job))
    return { create: Array.from({ length: missing }, () => undefined), delete: extra, waitMs }
  return { create: freeIndexes(job, status, pods, missing), delete: extra, waitMs }
}

/** Of two active Pods with one index the younger is too many. */
const doubled = (job: Job, active: readonly Pod[]): Pod[] => {
  if (!isIndexed(job)) return []
  const seen = new Set<number>()
  return [...active]
    .sort((a, b) =>
      (a.metadata.creationTimestamp ?? '').localeCompare(b.metadata.creationTimestamp ?? ''),
    )
    .filter((pod) => {
      const bad = seen.has(indexOf(pod)) || indexOf(pod) < 0
      seen.add(indexOf(pod))
      return bad
    })
}

const leastFar = (active: readonly Pod[], count: number): Pod[] =>
  [...active]
    .sort(
      (a, b) =>
        Number(Boolean(a.spec.nodeName)) - Number(Boolean(b.spec.nodeName)) ||
        Number(isPodReady(a)) - Number(isPodReady(b)) ||
        (b.metadata.creationTimestamp ?? '').localeCompare(a.metadata.creationTimestamp ?? ''),
    )
    .slice(0, count)

const freeIndexes = (
  job: Job,
  status: JobStatus,
  pods: readonly Pod[],
  count: number,
): number[] => {
  const taken = parseIndexes(status.completedIndexes)
  for (const pod of pods)
    if (isActive(pod) || (onlyReplaceFailed(job) && !isOver(job, pod))) taken.add(indexOf(pod))
  const free: number[] = []
  for (let i = 0; i < (job.spec.completions ?? 0) && free.length < count; i++)
    if (!taken.has(i)) free.push(i)
  return free
}

const put = (
  conditions: readonly Condition[],
  wanted: Pick<Condition, 'type' | 'status' | 'reason' | 'message'>,
  time: string,
): Condition[] => {
  const known = conditions.find((c) => c.type === wanted.type)
  if (known?.status === wanted.status) return [...conditions]
  const { type, status, ...why } = wanted
  const next = { type, status, lastProbeTime: time, lastTransitionTime: time, ...why }
  return [...conditions.filter((c) => c !== known), next]
}

/** The status as it should be: counts of what runs, conditions of what is decided. */
export const jobStatus = (
  job: Job,
  counted: JobStatus,
  pods: readonly Pod[],
  { now, ending }: { now: number; ending: Ending | undefined },
): JobStatus => {
  const time = formatTime(now)
  const active = pods.filter(isActive)
  const terminating = pods.filter((p) => isTerminating(p) && !isPodOver(p)).length
  let conditions = counted.conditions ?? []
  let { startTime, completionTime } = counted
  if (job.spec.suspend && ending === undefined) conditions = put(conditions, suspended, time)
  else if (conditions.some((c) => c.type === 'Suspended' && c.status === 'True')) {
    conditions = put(conditions, resumed, time)
    startTime = time
  }
  if (!job.spec.suspend) startTime ??= time
  if (ending !== undefined) {
    const { type, reason, message } = ending
    const target = type === 'Complete' ? 'SuccessCriteriaMet' : 'FailureTarget'
    conditions = put(conditions, { type: target, status: 'True', reason, message }, time)
    // The last word is only said when nothing runs any more.
    const quiet =
      active.length === 0 && terminating === 0 && isEmpty(counted.uncountedTerminatedPods)
    if (quiet) {
      conditions = put(conditions, { type, status: 'True', reason, message }, time)
      if (type === 'Complete') completionTime ??= time
    }
  }
  const optional = {
    active: active.length,
    succeeded: counted.succeeded,
    failed: counted.failed,
    startTime,
    completionTime,
    completedIndexes: counted.completedIndexes,
  }
  return {
    ...Object.fromEntries(Object.entries(optional).filter(([, v]) => v)),
    ...(conditions.length > 0 ? { conditions } : {}),
    ready: active.filter(isPodReady).length,
    terminating,
    uncountedTerminatedPods: counted.uncountedTerminatedPods ?? {},
  }
}

const isPodOver = (pod: Pod): boolean =>
  pod.status?.phase === 'Succeeded' || pod.status?.phase === 'Failed'
const isEmpty = (lists: JobStatus['uncountedTerminatedPods']): boolean =>
  (lists?.succeeded?.length ?? 0) + (lists?.failed?.length ?? 0) === 0
const suspended = {
  type: 'Suspended',
  status: 'True',
  reason: 'JobSuspended',
  message: 'Job suspended',
} as const
const resumed = {
  type: 'Suspended',
  status: 'False',
  reason: 'JobResumed',
  message: 'Job resumed',
} as const
