/**
 * How one Pod lived and died, as steps in time: from what its object and its events say afterwards, and finer from the
 * states that a watch has shown one after the other. Pure: times come with what is handed in.
 */

import { parseTime } from '#api/clock.js'
import { type Condition, conditionOf } from '#api/conditions.js'
import { deletionAskedAt } from '#api/grace-period.js'
import type { PersistedObject } from '#api/object.js'
import { isTerminalPhase } from '#api/pod-phase.js'
import { describeEnd, type Terminated } from './describe-end.js'
import { describeEvent, lastSeenAt } from './events.js'

export interface Step {
  /** Milliseconds since the epoch. */
  readonly at: number
  readonly what: string
  /** True when `at` is known to the millisecond, because it was seen and not read. */
  readonly exact: boolean
}

export interface ContainerStatus {
  name: string
  ready?: boolean
  restartCount?: number
  state?: {
    running?: { startedAt?: string }
    waiting?: { reason?: string }
    terminated?: Terminated
  }
  lastState?: { terminated?: Terminated }
}

export const statusesOf = (pod: PersistedObject): ContainerStatus[] => [
  ...(pod.status?.initContainerStatuses ?? []),
  ...(pod.status?.containerStatuses ?? []),
  ...(pod.status?.ephemeralContainerStatuses ?? []),
]

/** Undefined for a time that nobody knows: of a container that could not be started runtimes tell the epoch. */
export const momentOf = (time: string | null | undefined): number | undefined => {
  const at = time ? parseTime(time) : 0
  return at > 0 ? at : undefined
}

const seconds = (n: number): string => `${n} s`

/**
 * Whoever ends a Pod says so before it deletes it: evictions, taints, preemption, Pod garbage collection, its kubelet.
 */
const disruptionOf = (pod: PersistedObject | undefined): Condition | undefined => {
  const condition = conditionOf(pod, 'DisruptionTarget')
  return condition?.status === 'True' ? condition : undefined
}
const describeDisruption = ({ reason = '', message = '' }: Condition): string =>
  `has to go: ${reason}${message === '' ? '' : ` (${message})`}`

const objectSteps = (pod: PersistedObject): Step[] => {
  const steps: Step[] = []
  const add = (time: string | null | undefined, what: string) => {
    const at = momentOf(time)
    if (at !== undefined) steps.push({ at, what, exact: false })
  }
  add(pod.metadata.creationTimestamp, 'created')
  add(pod.status?.startTime, `seen by the kubelet of node ${pod.spec?.nodeName}`)
  for (const { name, state, lastState } of statusesOf(pod)) {
    for (const end of [lastState?.terminated, state?.terminated]) {
      add(end?.startedAt, `container ${name} started`)
      if (end) add(end.finishedAt, `container ${name} ${describeEnd(end)}`)
    }
    add(state?.running?.startedAt, `container ${name} started`)
  }
  const disruption = disruptionOf(pod)
  if (disruption) add(disruption.lastTransitionTime, describeDisruption(disruption))
  const asked = deletionAskedAt(pod)
  if (asked !== undefined) {
    const grace = pod.metadata.deletionGracePeriodSeconds ?? 0
    steps.push({ at: asked, what: `delete asked for, grace ${seconds(grace)}`, exact: false })
  }
  return steps
}

/** Their times have seconds or, of the scheduler, microseconds: cut, so that those of one second keep their order. */
const eventSteps = (pod: PersistedObject | undefined, events: readonly PersistedObject[]): Step[] =>
  events.flatMap((event) => {
    const at = lastSeenAt(event)
    if (at === undefined) return []
    return [{ at: at - (at % 1000), what: describeEvent(event, pod), exact: false }]
  })

/** Steps in order; those of one second keep the order: object first, then its events. */
export const timelineOf = (
  pod: PersistedObject | undefined,
  events: readonly PersistedObject[],
): Step[] =>
  [...(pod ? objectSteps(pod) : []), ...eventSteps(pod, events)].sort((a, b) => a.at - b.at)

const containerChanges = (
  before: PersistedObject | undefined,
  after: PersistedObject,
): string[] => {
  const earlier = new Map(before ? statusesOf(before).map((s) => [s.name, s]) : [])
  return statusesOf(after).flatMap(({ name, state, restartCount = 0 }) => {
    const was = earlier.get(name)
    const changes: string[] = []
    if (restartCount > (was?.restartCount ?? 0)) {
      changes.push(`container ${name} starts again, for the ${restartCount}. time`)
    }
    if (state?.running && !was?.state?.running) changes.push(`container ${name} runs`)
    if (state?.terminated && !was?.state?.terminated) {
      changes.push(`container ${name} ${describeEnd(state.terminated)}`)
    }
    const waiting = state?.waiting?.reason
    if (waiting && waiting !== was?.state?.waiting?.reason) {
      changes.push(`container ${name} waits: ${waiting}`)
    }
    return changes
  })
}

/** The kubelet deletes a Pod that has ended; whoever does that earlier has forced it. */
const describeLastDelete = (before: PersistedObject | undefined): string => {
  if (!before?.spec?.nodeName) return 'grace set to 0, no node has it: the object goes'
  return isTerminalPhase(before.status?.phase)
    ? 'grace set to 0, all of it has ended: the object goes'
    : 'grace set to 0 before all of it has ended (forced): the object goes'
}

const deletionChanges = (before: PersistedObject | undefined, after: PersistedObject): string[] => {
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
        ? describeLastDelete(before)
        : `grace shortened to ${seconds(deletionGracePeriodSeconds)}`,
    )
  }
  for (const finalizer of before?.metadata.finalizers ?? []) {
    if (!finalizers.includes(finalizer)) changes.push(`finalizer ${finalizer} removed`)
  }
  return changes
}

/** What is different between two states that a watch has shown, in the order in which it came about. */
export const changesBetween = (
  before: PersistedObject | undefined,
  after: PersistedObject,
): string[] => {
  const changes: string[] = []
  if (before === undefined) changes.push(`first seen: ${after.status?.phase ?? 'Pending'}`)
  else if (before.spec?.nodeName !== after.spec?.nodeName) {
    changes.push(`bound to node ${after.spec?.nodeName}`)
  }
  const disruption = disruptionOf(after)
  if (disruption && disruption.reason !== disruptionOf(before)?.reason)
    changes.push(describeDisruption(disruption))
  changes.push(...deletionChanges(before, after), ...containerChanges(before, after))
  const isReady = conditionOf(after, 'Ready')?.status === 'True'
  if (before && isReady !== (conditionOf(before, 'Ready')?.status === 'True'))
    changes.push(isReady ? 'ready' : 'not ready any more')
  const phase = after.status?.phase
  if (before && phase !== before.status?.phase) changes.push(`phase ${phase}`)
  return changes
}
