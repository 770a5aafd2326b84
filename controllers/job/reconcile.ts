/**
 * A Job and its Pods → what to count, make and end. Pure.
 * Counting survives a crash at any point: the uid of a finished Pod goes into status.uncountedTerminatedPods, then its
 * finalizer goes, then the counter grows as the uid leaves the list. Indexed successes are a set, so need no list.
 */
import { isPodReady, type Pod } from '#client/pod.js'
import { total } from './ending.js'
import { countsAsFailure, judgeFailure } from './failure-policy.js'
import { failedIndexes, predecessors, retriesPerIndex, triesOf } from './indexes.js'
import {
  conditionIn,
  finishedAt,
  formatIndexes,
  hasFailed,
  hasSucceeded,
  indexOf,
  isActive,
  isDecided,
  isEnding,
  isIndexed,
  isOver,
  isTracked,
  type Job,
  type JobStatus,
  onlyReplaceFailed,
  parseIndexes,
} from './job.js'

export interface Accounting {
  /** The status with everything that is over noted, but not yet counted. */
  noted: JobStatus
  /** Pods whose finalizer may go once `noted` is stored. */
  release: Pod[]
  /** Failures that are not noted yet, because their Pods are kept for what they know. */
  kept: number
  /** A failure that ends the Job by policy. */
  failJob: string | undefined
}

/** First half: note what is over. `job.status` may hold uids from before a crash. */
export const account = (job: Job, pods: readonly Pod[]): Accounting => {
  const status = countReleased(job.status ?? {}, pods)
  const succeeded = new Set(status.uncountedTerminatedPods?.succeeded ?? [])
  const failed = new Set(status.uncountedTerminatedPods?.failed ?? [])
  const indexes = parseIndexes(status.completedIndexes)
  const isValid = (pod: Pod): boolean =>
    !isIndexed(job) || (indexOf(pod) >= 0 && indexOf(pod) < (job.spec.completions ?? 0))
  for (const pod of pods)
    if (isIndexed(job) && isTracked(pod) && hasSucceeded(pod) && isValid(pod))
      indexes.add(indexOf(pod))
  const failures = failedIndexes(job, status, pods)
  const waiting = isDecided(job)
    ? new Set<Pod>()
    : new Set(predecessors(job, pods, new Set([...indexes, ...(failures ?? [])])).values())
  const isMet = conditionIn(job, 'SuccessCriteriaMet') !== undefined
  const isLost = conditionIn(job, 'FailureTarget') !== undefined
  const release: Pod[] = []
  let kept = 0
  let failJob: string | undefined
  for (const pod of pods) {
    if (!isTracked(pod)) continue
    const uid = pod.metadata.uid!
    if (hasSucceeded(pod)) {
      if (!isIndexed(job)) succeeded.add(uid)
      release.push(pod)
    } else if (isMet && isEnding(pod)) release.push(pod)
    else if (hasFailed(job, pod) || (isLost && isEnding(pod))) {
      const verdict = judgeFailure(job, pod)
      if (verdict.action === 'FailJob') failJob ??= verdict.message
      const counts = countsAsFailure(verdict) && isValid(pod)
      if (waiting.has(pod)) {
        if (counts) kept++
        continue
      }
      if (counts) failed.add(uid)
      release.push(pod)
    }
  }
  const noted: JobStatus = {
    ...status,
    ...(isIndexed(job)
      ? { completedIndexes: formatIndexes(indexes), succeeded: indexes.size }
      : {}),
    ...(failures === undefined ? {} : { failedIndexes: formatIndexes(failures) }),
    uncountedTerminatedPods: lists(succeeded, failed),
  }
  return { noted, release, kept, failJob }
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

/** Upstream's DefaultJobPodFailureBackOff and its maximum. */
const backoffBaseMs = 10_000
const backoffMaxMs = 600_000

/** How long no new Pod may be made, by the failures since the last success. */
export const backoffMs = (job: Job, pods: readonly Pod[], now: number): number => {
  const over = pods.filter((p) => isOver(job, p)).sort((a, b) => finishedAt(b) - finishedAt(a))
  const lastSuccess = over.findIndex(hasSucceeded)
  const failures = (lastSuccess < 0 ? over : over.slice(0, lastSuccess)).filter(
    (p) => p.status?.phase === 'Failed',
  )
  return failures.length === 0 ? 0 : backoffLeft(failures.length, failures[0]!, now)
}

const backoffLeft = (failures: number, last: Pod, now: number): number => {
  const wait = Math.min(backoffMaxMs, backoffBaseMs * 2 ** (failures - 1))
  return Math.max(0, finishedAt(last) + wait - now)
}

export interface PodPlan {
  create: NewIndex[]
  /** These go without having failed: they lose their finalizer first. */
  delete: Pod[]
  waitMs: number
}
export interface NewIndex {
  /** Undefined for a Pod without a completion index. */
  index: number | undefined
  /** The failed Pod whose place it takes, where tries are counted for each index. */
  before?: Pod | undefined
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
  const isQueue = completions === undefined
  const wanted = isQueue
    ? succeeded > 0
      ? active.length
      : parallelism
    : Math.min(parallelism, Math.max(0, completions - succeeded))
  const extra = doubled(job, active)
  const surplus = active.length - extra.length - wanted
  if (surplus > 0)
    return { create: [], delete: [...extra, ...leastFar(active, surplus)], waitMs: 0 }
  const ending = onlyReplaceFailed(job) ? pods.filter(isEnding).length : 0
  const missing = Math.max(0, -surplus - ending)
  // With a limit for each index, each has its own back-off.
  const waitMs = missing > 0 && retriesPerIndex(job) === undefined ? backoffMs(job, pods, now) : 0
  if (missing === 0 || waitMs > 0) return { create: [], delete: extra, waitMs }
  if (!isIndexed(job))
    return {
      create: Array.from({ length: missing }, () => ({ index: undefined })),
      delete: extra,
      waitMs,
    }
  const free = freeIndexes(job, status, pods, missing)
  const before = predecessors(job, pods, settledIndexes(status))
  const waits = new Map(
    free.map((index) => {
      const last = before.get(index)
      return [index, last === undefined ? 0 : backoffLeft(triesOf(last) + 1, last, now)]
    }),
  )
  const due = free.filter((index) => waits.get(index) === 0)
  return {
    create: due.map((index) => ({ index, before: before.get(index) })),
    delete: extra,
    waitMs: due.length > 0 || free.length === 0 ? 0 : Math.min(...waits.values()),
  }
}

const settledIndexes = (status: JobStatus): Set<number> =>
  new Set([...parseIndexes(status.completedIndexes), ...parseIndexes(status.failedIndexes)])

/** Of two active Pods with one index the younger is too many, and so is one beyond the completions. */
const doubled = (job: Job, active: readonly Pod[]): Pod[] => {
  if (!isIndexed(job)) return []
  const seen = new Set<number>()
  return [...active]
    .sort((a, b) =>
      (a.metadata.creationTimestamp ?? '').localeCompare(b.metadata.creationTimestamp ?? ''),
    )
    .filter((pod) => {
      const isOutside = indexOf(pod) < 0 || indexOf(pod) >= (job.spec.completions ?? 0)
      const bad = seen.has(indexOf(pod)) || isOutside
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
  const taken = settledIndexes(status)
  for (const pod of pods)
    if (isActive(pod) || (onlyReplaceFailed(job) && !isOver(job, pod))) taken.add(indexOf(pod))
  const free: number[] = []
  for (let i = 0; i < (job.spec.completions ?? 0) && free.length < count; i++)
    if (!taken.has(i)) free.push(i)
  return free
}
