/** What is kept for each completion index: which have succeeded or failed, and how often one was tried. Pure. */
import { isPodActive, type Pod } from '#client/pod.js'
import { limits } from '#limits'
import { parseCount } from '../pods/parse-count.js'
import { countsAsFailure, judgeFailure } from './failure-policy.js'
import {
  finishedAt,
  hasFailed,
  indexOf,
  intervalsOf,
  isDecided,
  isTracked,
  type Job,
  type JobStatus,
  parseIndexes,
} from './job.js'

const failureCountAnnotation = 'batch.kubernetes.io/job-index-failure-count'
const ignoredCountAnnotation = 'batch.kubernetes.io/job-index-ignored-failure-count'

export const retriesPerIndex = (job: Job): number | undefined =>
  job.spec.backoffLimitPerIndex ?? undefined
const counterOf = (pod: Pod, annotation: string): number =>
  parseCount(pod.metadata.annotations?.[annotation]) ?? 0
export const triesOf = (pod: Pod): number =>
  counterOf(pod, failureCountAnnotation) + counterOf(pod, ignoredCountAnnotation)
/** One of those that an Indexed Job has. */
export const hasIndex = (job: Job, pod: Pod): boolean =>
  indexOf(pod) >= 0 && indexOf(pod) < (job.spec.completions ?? 0)

/** Of a Pod with that index. What is too long is cut off before the index, so that the name still tells it. */
export const namePrefixOf = ({ metadata: { name } }: Job, index: number): string =>
  `${name.slice(0, limits.generatedNameBaseMax - `-${index}-`.length)}-${index}-`

const endsIndex = (job: Job, pod: Pod): boolean => {
  if (!hasFailed(job, pod)) return false
  const verdict = judgeFailure(job, pod)
  if (verdict.action === 'FailIndex') return true
  return (
    countsAsFailure(verdict) &&
    counterOf(pod, failureCountAnnotation) >= (retriesPerIndex(job) ?? 0)
  )
}

/** Indexes that will not be tried again; undefined for a Job that has no limit for each of them. */
export const failedIndexes = (
  job: Job,
  status: JobStatus,
  pods: readonly Pod[],
): Set<number> | undefined => {
  if (retriesPerIndex(job) === undefined) return undefined
  const failed = parseIndexes(status.failedIndexes)
  // What is ended with a decided Job has not failed by itself.
  if (isDecided(job)) return failed
  for (const pod of pods)
    if (hasIndex(job, pod) && isTracked(pod) && endsIndex(job, pod)) failed.add(indexOf(pod))
  return failed
}

/**
 * The last failed Pod of each index that waits for its successor. It keeps its finalizer until then, as it alone knows
 * how often the index was tried. Upstream: getPodsWithDelayedDeletionPerIndex.
 */
export const predecessors = (
  job: Job,
  pods: readonly Pod[],
  settled: ReadonlySet<number>,
): Map<number, Pod> => {
  const found = new Map<number, Pod>()
  if (retriesPerIndex(job) === undefined) return found
  const running = new Set(pods.filter(isPodActive).map(indexOf))
  for (const pod of pods) {
    const index = indexOf(pod)
    if (!hasIndex(job, pod) || !isTracked(pod) || !hasFailed(job, pod)) continue
    if (settled.has(index) || running.has(index)) continue
    const known = found.get(index)
    const isLater =
      known === undefined ||
      (triesOf(known) <= triesOf(pod) && finishedAt(known) <= finishedAt(pod))
    if (isLater) found.set(index, pod)
  }
  return found
}

/** What the successor remembers of the tries before it. */
export const failureAnnotations = (job: Job, before: Pod | undefined): Record<string, string> => {
  if (retriesPerIndex(job) === undefined) return {}
  if (before === undefined) return { [failureCountAnnotation]: '0' }
  const counts = countsAsFailure(judgeFailure(job, before))
  const failures = counterOf(before, failureCountAnnotation) + (counts ? 1 : 0)
  const ignored = counterOf(before, ignoredCountAnnotation) + (counts ? 0 : 1)
  return {
    [failureCountAnnotation]: String(failures),
    ...(ignored > 0 ? { [ignoredCountAnnotation]: String(ignored) } : {}),
  }
}

/** How many indexes a rule names that the Job has, and how many of them have succeeded. The intervals are in order. */
const countWanted = (
  text: string,
  succeeded: ReadonlySet<number>,
  completions: number,
): { wanted: number; present: number } => {
  const intervals = intervalsOf(text)
  let wanted = 0
  for (const [first, last] of intervals)
    wanted += Math.max(0, Math.min(last + 1, completions) - first)
  let present = 0
  let at = 0
  for (const index of [...succeeded].filter((i) => i < completions).sort((a, b) => a - b)) {
    while (at < intervals.length && intervals[at]![1] < index) at++
    if (at < intervals.length && intervals[at]![0] <= index) present++
  }
  return { wanted, present }
}

/** The rule of spec.successPolicy that is met, by its number. */
export const metSuccessRule = (job: Job, succeeded: ReadonlySet<number>): number | undefined => {
  if (succeeded.size === 0) return undefined
  const found = (job.spec.successPolicy?.rules ?? []).findIndex(
    ({ succeededIndexes, succeededCount }) => {
      if (succeededIndexes === undefined)
        return succeededCount !== undefined && succeeded.size >= succeededCount
      const { wanted, present } = countWanted(
        succeededIndexes,
        succeeded,
        job.spec.completions ?? 0,
      )
      if (wanted === 0) return false
      return present === wanted || present >= (succeededCount ?? Number.POSITIVE_INFINITY)
    },
  )
  return found < 0 ? undefined : found
}
