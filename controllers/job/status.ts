/** What a Job says of itself: counts of what runs, conditions of what is decided. Pure. */
import { formatTime } from '#api/clock.js'
import { type Condition, isPodActive, isPodReady, type Pod } from '#client/pod.js'
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

/** The status as it should be: counts of what runs, conditions of what is decided. */
export const jobStatus = (
  job: Job,
  counted: JobStatus,
  pods: readonly Pod[],
  { now, ending }: { now: number; ending: Ending | undefined },
): JobStatus => {
  const time = formatTime(now)
  const active = pods.filter(isPodActive)
  const terminating = pods.filter(isEnding).length
  let conditions = counted.conditions ?? []
  let { startTime, completionTime } = counted
  if (job.spec.suspend && ending === undefined) {
    conditions = put(conditions, suspended, time)
    startTime = undefined
  } else if (conditions.some((c) => c.type === 'Suspended' && c.status === 'True')) {
    conditions = put(conditions, resumed, time)
    startTime = time
  }
  if (!job.spec.suspend) startTime ??= time
  if (ending !== undefined) {
    const { type, reason, message } = ending
    conditions = withTarget(conditions, ending, now)
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
  const { failedIndexes: failures } = counted
  return {
    ...Object.fromEntries(Object.entries(optional).filter(([, v]) => v)),
    ...(failures === undefined ? {} : { failedIndexes: failures }),
    ...(conditions.length > 0 ? { conditions } : {}),
    ready: active.filter(isPodReady).length,
    terminating,
    uncountedTerminatedPods: counted.uncountedTerminatedPods ?? {},
  }
}

/** The status of a Job that is deleted: nothing is counted or decided any more, but it tells what still runs. */
export const runningCounts = ({ status = {} }: Job, pods: readonly Pod[]): JobStatus => {
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
