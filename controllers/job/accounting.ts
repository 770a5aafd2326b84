/**
 * What counts of a Job's Pods. The count survives a crash at any point: the uid of a finished Pod goes into
 * status.uncountedTerminatedPods, then its finalizer goes, then the counter grows as the uid leaves the list. Indexed
 * successes are a set, so they need no list. Pure.
 */
import type { Pod } from '#client/pod.js'
import { limits } from '#limits'
import { countsAsFailure, judgeFailure } from './failure-policy.js'
import { failedIndexes, hasIndex, predecessors } from './indexes.js'
import {
  conditionIn,
  formatIndexes,
  hasFailed,
  hasSucceeded,
  indexOf,
  isDecided,
  isEnding,
  isIndexed,
  isTracked,
  type Job,
  type JobStatus,
  parseIndexes,
} from './job.js'

export interface Accounting {
  /** The status with everything that is over noted, but not yet counted. */
  noted: JobStatus
  /** Pods whose finalizer may go once `noted` is stored. */
  release: Pod[]
  /** Failures that are not noted yet, because their Pods are kept for the tries that they record. */
  kept: number
  /** A failure that ends the Job by policy. */
  failJob: string | undefined
}

/** A Pod that was noted as failed because it was asked to go stays so, though it may yet have ended well. */
const countsAsSuccess = (pod: Pod, failed: ReadonlySet<string>): boolean =>
  hasSucceeded(pod) && !failed.has(pod.metadata.uid)

/** Of an Indexed Job, every index that has succeeded; else none. */
const completedIndexes = (
  job: Job,
  { completedIndexes: before, uncountedTerminatedPods: noted }: JobStatus,
  pods: readonly Pod[],
): Set<number> => {
  const indexes = parseIndexes(before)
  const failed = new Set(noted?.failed ?? [])
  for (const pod of pods)
    if (isIndexed(job) && isTracked(pod) && countsAsSuccess(pod, failed) && hasIndex(job, pod))
      indexes.add(indexOf(pod))
  return indexes
}

/** First half: note what is over. `job.status` may hold uids from before a crash. */
export const account = (job: Job, pods: readonly Pod[]): Accounting => {
  const status = countReleased(job.status ?? {}, pods)
  const succeeded = new Set(status.uncountedTerminatedPods?.succeeded ?? [])
  const failed = new Set(status.uncountedTerminatedPods?.failed ?? [])
  const indexes = completedIndexes(job, status, pods)
  const failures = failedIndexes(job, status, pods)
  const waiting = isDecided(job)
    ? new Set<Pod>()
    : new Set(predecessors(job, pods, new Set([...indexes, ...(failures ?? [])])).values())
  const isMet = conditionIn(job, 'SuccessCriteriaMet') !== undefined
  const isLost = conditionIn(job, 'FailureTarget') !== undefined
  const release: Pod[] = []
  let kept = 0
  let failJob: string | undefined
  const noteFailure = (pod: Pod): void => {
    const verdict = judgeFailure(job, pod)
    if (verdict.action === 'FailJob') failJob ??= verdict.message
    const counts = countsAsFailure(verdict) && (!isIndexed(job) || hasIndex(job, pod))
    if (!waiting.has(pod)) {
      if (counts) failed.add(pod.metadata.uid)
      release.push(pod)
    } else if (counts) kept++
  }
  for (const pod of pods.filter(isTracked)) {
    // The others come when these are counted.
    if (release.length >= limits.uncountedPodsMax) break
    if (countsAsSuccess(pod, failed)) {
      if (!isIndexed(job)) succeeded.add(pod.metadata.uid)
      release.push(pod)
    } else if (hasSucceeded(pod) || (isMet && isEnding(pod))) release.push(pod)
    else if (hasFailed(job, pod) || (isLost && isEnding(pod))) noteFailure(pod)
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
  const held = new Set(pods.filter(isTracked).map((pod) => pod.metadata.uid))
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
