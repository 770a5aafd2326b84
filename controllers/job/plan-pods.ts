/** Which Pods of a Job to make and to end while it goes on. Pure. */
import { isPodActive, type Pod } from '#client/pod.js'
import { limits } from '#limits'
import { byProgress } from '../pods/rank.js'
import { total } from './ending.js'
import { backoffLeft, type Failures } from './failures.js'
import { hasIndex, predecessors, retriesPerIndex, triesOf } from './indexes.js'
import {
  finishedAt,
  indexOf,
  isEnding,
  isIndexed,
  isOver,
  type Job,
  type JobStatus,
  onlyReplaceFailed,
  parseIndexes,
} from './job.js'

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

/** How many Pods are to be active. */
const wantedActive = ({ spec }: Job, status: JobStatus, active: number): number => {
  const succeeded = total(status, 'succeeded')
  const parallelism = spec.parallelism ?? 1
  if (spec.completions !== undefined)
    return Math.min(parallelism, Math.max(0, spec.completions - succeeded))
  // A work queue is drained once one of its workers has found it empty.
  return succeeded > 0 ? active : parallelism
}

/** Pods to make and end. */
export const planPods = (
  job: Job,
  status: JobStatus,
  pods: readonly Pod[],
  { failures, now }: { failures: Failures; now: number },
): PodPlan => {
  const active = pods.filter(isPodActive)
  if (job.spec.suspend) return { create: [], delete: active, waitMs: 0 }
  const extra = unwanted(job, active)
  const left = active.filter((pod) => !extra.has(pod)).sort(byProgress)
  const surplus = left.length - wantedActive(job, status, active.length)
  if (surplus > 0) {
    const unneeded = [...extra, ...left.slice(0, surplus)]
    return { create: [], delete: unneeded.slice(0, limits.jobPodsAtOnceMax), waitMs: 0 }
  }
  const ending = onlyReplaceFailed(job) ? pods.filter(isEnding).length : 0
  // Those that are made now bring the Job back for the others.
  const missing = Math.min(limits.jobPodsAtOnceMax, Math.max(0, -surplus - ending))
  // With a limit for each index, each has its own back-off.
  const waitMs = missing > 0 && retriesPerIndex(job) === undefined ? backoffLeft(failures, now) : 0
  if (missing === 0 || waitMs > 0) return { create: [], delete: [...extra], waitMs }
  const made = isIndexed(job)
    ? planIndexes(job, status, { pods, missing, now })
    : { create: Array.from({ length: missing }, () => ({ index: undefined })), waitMs: 0 }
  return { ...made, delete: [...extra] }
}

/** The next `missing` indexes, but for those whose last Pod failed too short a time ago. */
const planIndexes = (
  job: Job,
  status: JobStatus,
  { pods, missing, now }: { pods: readonly Pod[]; missing: number; now: number },
): Omit<PodPlan, 'delete'> => {
  const free = freeIndexes(job, status, pods, missing)
  const before = predecessors(job, pods, settledIndexes(status))
  const waits = new Map(
    free.map((index) => {
      const last = before.get(index)
      const failures = last && { count: triesOf(last) + 1, lastAt: finishedAt(last) }
      return [index, failures === undefined ? 0 : backoffLeft(failures, now)]
    }),
  )
  const due = free.filter((index) => waits.get(index) === 0)
  return {
    create: due.map((index) => ({ index, before: before.get(index) })),
    waitMs: due.length > 0 || free.length === 0 ? 0 : Math.min(...waits.values()),
  }
}

const settledIndexes = (status: JobStatus): Set<number> =>
  new Set([...parseIndexes(status.completedIndexes), ...parseIndexes(status.failedIndexes)])

/** Those that an indexed Job never wants: all but the furthest of each index, and those beyond the completions. */
const unwanted = (job: Job, active: readonly Pod[]): Set<Pod> => {
  if (!isIndexed(job)) return new Set()
  const furthest = new Map<number, Pod>()
  for (const pod of [...active].sort(byProgress))
    if (hasIndex(job, pod)) furthest.set(indexOf(pod), pod)
  return new Set(active.filter((pod) => furthest.get(indexOf(pod)) !== pod))
}

const freeIndexes = (
  job: Job,
  status: JobStatus,
  pods: readonly Pod[],
  count: number,
): number[] => {
  const taken = settledIndexes(status)
  for (const pod of pods)
    if (isPodActive(pod) || (onlyReplaceFailed(job) && !isOver(job, pod))) taken.add(indexOf(pod))
  const free: number[] = []
  for (let i = 0; i < (job.spec.completions ?? 0) && free.length < count; i++)
    if (!taken.has(i)) free.push(i)
  return free
}
