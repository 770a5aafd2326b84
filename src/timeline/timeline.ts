/**
 * How one Pod lived and died, as steps in time: from what its object and its events say afterwards, and finer from the
 * states that a watch has shown one after the other. Pure: times come with what is handed in.
 */
import { parseTime } from '#api/clock.js'
import type { KubeObject } from '#api/object.js'

export interface Step {
  /** Milliseconds since the epoch. */
  readonly at: number
  readonly what: string
  /** True when `at` is known to the millisecond, because it was seen and not read. */
  readonly exact: boolean
}

interface ContainerStatus {
  name: string
  ready?: boolean
  restartCount?: number
  state?: {
    running?: { startedAt?: string }
    waiting?: { reason?: string }
    terminated?: { exitCode: number; reason?: string; startedAt?: string; finishedAt?: string }
  }
}

const statusesOf = (pod: KubeObject): ContainerStatus[] => [
  ...(pod.status?.initContainerStatuses ?? []),
  ...(pod.status?.containerStatuses ?? []),
]

const seconds = (n: number): string => `${n} s`

/** What an exit code says about how the container came to its end. */
const describeExit = (exitCode: number): string => {
  if (exitCode === 0) return 'ended by itself or obeyed the stop signal (exit code 0)'
  if (exitCode === 137) return 'was killed with SIGKILL (exit code 137)'
  if (exitCode === 143) return 'ended by SIGTERM (exit code 143)'
  return `ended with exit code ${exitCode}`
}

/** When the delete was asked for: the timestamp on the object is when the grace is over. */
export const deletionAskedAt = ({ metadata }: KubeObject): number | undefined =>
  metadata.deletionTimestamp === undefined
    ? undefined
    : parseTime(metadata.deletionTimestamp) - (metadata.deletionGracePeriodSeconds ?? 0) * 1000

const objectSteps = (pod: KubeObject): Step[] => {
  const steps: Step[] = []
  const add = (time: string | null | undefined, what: string) => {
    if (time) steps.push({ at: parseTime(time), what, exact: false })
  }
  add(pod.metadata.creationTimestamp, 'created')
  add(pod.status?.startTime, `seen by the kubelet of node ${pod.spec?.nodeName}`)
  for (const { name, state } of statusesOf(pod)) {
    add(state?.running?.startedAt, `container ${name} started`)
    add(state?.terminated?.startedAt, `container ${name} started`)
    add(
      state?.terminated?.finishedAt,
      `container ${name} ${describeExit(state?.terminated?.exitCode ?? 0)}`,
    )
  }
  const asked = deletionAskedAt(pod)
  if (asked !== undefined) {
    const grace = pod.metadata.deletionGracePeriodSeconds ?? 0
    steps.push({ at: asked, what: `delete asked for, grace ${seconds(grace)}`, exact: false })
  }
  return steps
}

/** What an Event says, and how often it has. */
export const describeEvent = (event: KubeObject): string => {
  const count = event.count ?? event.series?.count ?? 1
  const often = count > 1 ? ` (${count} times, last now)` : ''
  return `${event.reason}: ${event.message ?? event.note}${often}`
}

const eventSteps = (events: readonly KubeObject[]): Step[] =>
  events.flatMap((event) => {
    const time = event.eventTime ?? event.lastTimestamp ?? event.deprecatedLastTimestamp
    return time ? [{ at: parseTime(time), what: describeEvent(event), exact: false }] : []
  })

/** Steps in order; those of one second keep the order: object first, then its events. */
export const timelineOf = (pod: KubeObject | undefined, events: readonly KubeObject[]): Step[] =>
  [...(pod ? objectSteps(pod) : []), ...eventSteps(events)].sort((a, b) => a.at - b.at)

const conditionOf = (pod: KubeObject | undefined, type: string): string | undefined =>
  pod?.status?.conditions?.find((c: { type: string; status: string }) => c.type === type)?.status

const containerChanges = (before: KubeObject | undefined, after: KubeObject): string[] => {
  const earlier = new Map(before ? statusesOf(before).map((s) => [s.name, s]) : [])
  return statusesOf(after).flatMap(({ name, state, restartCount = 0 }) => {
    const was = earlier.get(name)
    const changes: string[] = []
    if (restartCount > (was?.restartCount ?? 0)) {
      changes.push(`container ${name} starts again, for the ${restartCount}. time`)
    }
    if (state?.running && !was?.state?.running) changes.push(`container ${name} runs`)
    if (state?.terminated && !was?.state?.terminated) {
      changes.push(`container ${name} ${describeExit(state.terminated.exitCode)}`)
    }
    const waiting = state?.waiting?.reason
    if (waiting && waiting !== was?.state?.waiting?.reason) {
      changes.push(`container ${name} waits: ${waiting}`)
    }
    return changes
  })
}

const deletionChanges = (before: KubeObject | undefined, after: KubeObject): string[] => {
  const { deletionTimestamp, deletionGracePeriodSeconds = 0, finalizers = [] } = after.metadata
  const changes: string[] = []
  if (deletionTimestamp && !before?.metadata.deletionTimestamp) {
    changes.push(`delete asked for, grace ${seconds(deletionGracePeriodSeconds)}`)
  } else if (
    deletionTimestamp &&
    deletionGracePeriodSeconds !== before?.metadata.deletionGracePeriodSeconds
  ) {
    changes.push(
      deletionGracePeriodSeconds === 0
        ? 'grace set to 0: the object goes'
        : `grace shortened to ${seconds(deletionGracePeriodSeconds)}`,
    )
  }
  for (const finalizer of before?.metadata.finalizers ?? []) {
    if (!finalizers.includes(finalizer)) changes.push(`finalizer ${finalizer} removed`)
  }
  return changes
}

/** What is different between two states that a watch has shown, in the order in which it came about. */
export const changesBetween = (before: KubeObject | undefined, after: KubeObject): string[] => {
  const changes: string[] = []
  if (before === undefined) changes.push(`first seen: ${after.status?.phase ?? 'Pending'}`)
  else if (before.spec?.nodeName !== after.spec?.nodeName) {
    changes.push(`bound to node ${after.spec?.nodeName}`)
  }
  changes.push(...deletionChanges(before, after), ...containerChanges(before, after))
  const ready = conditionOf(after, 'Ready')
  if (before && ready !== conditionOf(before, 'Ready')) {
    changes.push(ready === 'True' ? 'ready' : 'not ready any more')
  }
  const phase = after.status?.phase
  if (before && phase !== before.status?.phase) changes.push(`phase ${phase}`)
  return changes
}
