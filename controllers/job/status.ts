/** What a Job says of itself: counts of what runs, conditions of what is decided. Pure. */
import { formatTime } from '#api/clock.js'
import type { Condition } from '#api/conditions.js'
import { isPodActive, isPodReady, type Pod } from '#client/pod.js'
import type { Ending } from './ending.js'
import { isEnding, type Job, type JobStatus } from './job.js'

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

/** The decision is stored before the Pods that tell why are let go. */
export const withTarget = (
  conditions: readonly Condition[],
  { type, reason, message }: Ending,
  now: number,
): Condition[] => {
  const target = type === 'Complete' ? 'SuccessCriteriaMet' : 'FailureTarget'
  return put(conditions, { type: target, status: 'True', reason, message }, formatTime(now))
}

/** What of a Job is decided, as far as its status tells. */
type Decided = Pick<JobStatus, 'startTime' | 'completionTime'> & { conditions: Condition[] }

/** A Job starts, and starts again after it was suspended; one that ends is not suspended any more. */
const decideStart = (
  { spec }: Job,
  { conditions = [], startTime, completionTime }: JobStatus,
  ending: Ending | undefined,
  time: string,
): Decided => {
  if (spec.suspend && ending === undefined)
    return { conditions: put(conditions, suspended, time), startTime: undefined, completionTime }
  if (conditions.some((c) => c.type === 'Suspended' && c.status === 'True'))
    return { conditions: put(conditions, resumed, time), startTime: time, completionTime }
  return { conditions, startTime: spec.suspend ? startTime : (startTime ?? time), completionTime }
}

/**
 * The target is written at once, the final condition only when `isQuiet`: nothing runs any more, and nothing is left to
 * count.
 */
const decideEnd = (
  decided: Decided,
  ending: Ending,
  { now, isQuiet }: { now: number; isQuiet: boolean },
): Decided => {
  const time = formatTime(now)
  const { type, reason, message } = ending
  const conditions = withTarget(decided.conditions, ending, now)
  if (!isQuiet) return { ...decided, conditions }
  return {
    startTime: decided.startTime,
    completionTime: type === 'Complete' ? (decided.completionTime ?? time) : decided.completionTime,
    conditions: put(conditions, { type, status: 'True', reason, message }, time),
  }
}

/** The status as it should be: counts of what runs, conditions of what is decided. */
export const jobStatus = (
  job: Job,
  counted: JobStatus,
  pods: readonly Pod[],
  { now, ending }: { now: number; ending: Ending | undefined },
): JobStatus => {
  const active = pods.filter(isPodActive)
  const terminating = pods.filter(isEnding).length
  const { succeeded, failed, completedIndexes, failedIndexes, uncountedTerminatedPods } = counted
  const isQuiet = active.length === 0 && terminating === 0 && isEmpty(uncountedTerminatedPods)
  const started = decideStart(job, counted, ending, formatTime(now))
  const { conditions, startTime, completionTime } =
    ending === undefined ? started : decideEnd(started, ending, { now, isQuiet })
  const leftOutWhenEmpty = {
    active: active.length,
    succeeded,
    failed,
    startTime,
    completionTime,
    completedIndexes,
  }
  return {
    ...Object.fromEntries(Object.entries(leftOutWhenEmpty).filter(([, value]) => value)),
    ...(failedIndexes === undefined ? {} : { failedIndexes }),
    ...(conditions.length > 0 ? { conditions } : {}),
    ready: active.filter(isPodReady).length,
    terminating,
    uncountedTerminatedPods: uncountedTerminatedPods ?? {},
  }
}

/**
 * The same status with the counts of what runs now: for a Job that is deleted, and for one whose finished Pods have
 * just been noted.
 */
export const runningCounts = (status: JobStatus, pods: readonly Pod[]): JobStatus => {
  const { active: _before, ...rest } = status
  const active = pods.filter(isPodActive)
  return {
    ...(active.length > 0 ? { active: active.length } : {}),
    ...rest,
    ready: active.filter(isPodReady).length,
    terminating: pods.filter(isEnding).length,
  }
}

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
