/** Whether and why a Job is decided. Pure. */
import { parseTime } from '#api/clock.js'
import { isPodActive, type Pod } from '#client/pod.js'
import { metSuccessRule, retriesPerIndex } from './indexes.js'
import { conditionIn, isIndexed, type Job, type JobStatus, parseIndexes } from './job.js'

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

/** What is counted, and what is noted but not counted yet. */
export const total = (status: JobStatus, which: 'succeeded' | 'failed'): number =>
  (status[which] ?? 0) + (status.uncountedTerminatedPods?.[which]?.length ?? 0)

const failedBecause = (reason: string, message: string): Ending => ({
  type: 'Failed',
  reason,
  message,
})

const decidedBefore = (job: Job): Ending | undefined => {
  for (const [condition, type] of [
    ['SuccessCriteriaMet', 'Complete'],
    ['FailureTarget', 'Failed'],
  ] as const) {
    const { reason = '', message = '' } = conditionIn(job, condition) ?? {}
    if (conditionIn(job, condition) !== undefined) return { type, reason, message }
  }
  return undefined
}

/** Those of a Pod that is ending count as well. */
const mayRestart = ({ status }: Pod): boolean =>
  status?.phase === 'Running' || status?.phase === 'Pending'

const overLimit = (job: Job, failed: number, pods: readonly Pod[]): boolean => {
  const limit = job.spec.backoffLimit ?? 6
  // Containers that restart in place count as tries too; with a limit of 0 the first restart is one too many.
  const restarts =
    job.spec.template.spec.restartPolicy === 'OnFailure' ? restartsOf(pods.filter(mayRestart)) : 0
  return failed > limit || (restarts > 0 && restarts >= limit)
}

const byIndexes = (job: Job, status: JobStatus): Ending | undefined => {
  if (!isIndexed(job)) return undefined
  const succeeded = parseIndexes(status.completedIndexes)
  if (retriesPerIndex(job) !== undefined) {
    const failed = parseIndexes(status.failedIndexes).size
    if (failed > (job.spec.maxFailedIndexes ?? Number.POSITIVE_INFINITY))
      return failedBecause(
        'MaxFailedIndexesExceeded',
        'Job has exceeded the specified maximal number of failed indexes',
      )
    if (failed > 0 && failed + succeeded.size >= (job.spec.completions ?? 0))
      return failedBecause('FailedIndexes', 'Job has failed indexes')
  }
  const rule = metSuccessRule(job, succeeded)
  return rule === undefined
    ? undefined
    : { type: 'Complete', reason: 'SuccessPolicy', message: `Matched rules at index ${rule}` }
}

/** Whether the Job is decided; `undefined` while it goes on. The order is upstream's: several may hold at once. */
export const endingOf = (
  job: Job,
  status: JobStatus,
  pods: readonly Pod[],
  { now, failJob, kept }: { now: number; failJob: string | undefined; kept: number },
): Ending | undefined => {
  const before = decidedBefore(job)
  if (before !== undefined) return before
  if (failJob !== undefined) return failedBecause('PodFailurePolicy', failJob)
  if (overLimit(job, total(status, 'failed') + kept, pods))
    return failedBecause('BackoffLimitExceeded', 'Job has reached the specified backoff limit')
  if (msUntilDeadline(job, status, now) <= 0)
    return failedBecause('DeadlineExceeded', 'Job was active longer than specified deadline')
  const decided = byIndexes(job, status)
  if (decided !== undefined) return decided
  return isComplete(job, status, pods.filter(isPodActive).length)
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
  if (job.spec.completions === undefined) return succeeded > 0 && active === 0
  return succeeded >= job.spec.completions
}

export const msUntilDeadline = (job: Job, status: JobStatus, now: number): number => {
  const seconds = job.spec.activeDeadlineSeconds
  if (seconds === undefined) return Number.POSITIVE_INFINITY
  if (job.spec.suspend || !status.startTime) return Number.POSITIVE_INFINITY
  return parseTime(status.startTime) + seconds * 1000 - now
}
