/**
 * The failures of a Job since its last success, and how long no new Pod may be made for them. They are kept in memory, as
 * upstream keeps them (backoff_utils.go): a Pod that was deleted counts, though nothing is left of it. Pure.
 */
import type { Pod } from '#client/pod.js'
import { hasIndex } from './indexes.js'
import { finishedAt, hasFailed, hasSucceeded, isIndexed, isTracked, type Job } from './job.js'

export interface Failures {
  count: number
  /** When the last of them ended, ms since 1970. */
  lastAt: number
}
export const noFailures: Failures = { count: 0, lastAt: 0 }

/** Upstream's DefaultJobPodFailureBackOff and its maximum. */
const backoffBaseMs = 10_000
const backoffMaxMs = 600_000

/** How long is still to wait after `count` failures in a row. */
export const backoffLeft = ({ count, lastAt }: Failures, now: number): number =>
  count === 0
    ? 0
    : Math.max(0, lastAt + Math.min(backoffMaxMs, backoffBaseMs * 2 ** (count - 1)) - now)

/** `before`, and what has ended since: Pods that the Job's status has not noted yet. Upstream: newBackoffRecord. */
export const failuresSince = (before: Failures, job: Job, pods: readonly Pod[]): Failures => {
  const noted = job.status?.uncountedTerminatedPods
  const held = pods.filter((pod) => isTracked(pod) && (!isIndexed(job) || hasIndex(job, pod)))
  const endsOf = (hasEnded: (pod: Pod) => boolean, uids: readonly string[] = []): number[] => {
    const known = new Set(uids)
    return held.filter((pod) => hasEnded(pod) && !known.has(pod.metadata.uid)).map(finishedAt)
  }
  const successes = endsOf(hasSucceeded, noted?.succeeded)
  const lastSuccess = latest(successes)
  const since = endsOf((pod) => hasFailed(job, pod), noted?.failed).filter((at) => at > lastSuccess)
  const count = since.length + (successes.length > 0 ? 0 : before.count)
  return since.length > 0 ? { count, lastAt: latest(since) } : { ...before, count }
}

const latest = (times: readonly number[]): number =>
  times.reduce((last, at) => Math.max(last, at), Number.NEGATIVE_INFINITY)
