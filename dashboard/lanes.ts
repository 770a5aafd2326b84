/** The parts of a Pod's life that are drawn as bars, and the state of each at one moment. Pure. */
import { conditionOf } from '#api/conditions.js'
import { deletionAskedAt } from '#api/grace-period.js'
import type { PersistedObject } from '#api/object.js'
import { getOwn } from '#json/object.js'
import { describeEnd, type Terminated } from '#src/timeline/describe-end.js'
import type { EndpointState, EndpointStates } from '#src/timeline/endpoints.js'
import { howItStops } from '#src/timeline/events.js'
import { type ContainerStatus, momentOf, statusesOf } from '#src/timeline/timeline.js'

/** The kind of state, by which bars are coloured. */
export type Tone = 'waits' | 'runs' | 'ends' | 'ended' | 'failed'

export interface LaneState {
  readonly text: string
  readonly tone: Tone
}

/** By the name of the lane, in the order in which they are drawn. A lane that is missing has no state now. */
type LaneStates = ReadonlyMap<string, LaneState>

/** What a lane was, since before it was looked at. */
interface PastState {
  readonly lane: string
  readonly at: number
  readonly state: LaneState
}

const objectLane = 'object'
const finalizersLane = 'finalizers'
const containerLane = (name: string): string => `container ${name}`
const serviceLane = (name: string): string => `service ${name}`

const phaseTones: Readonly<Record<string, Tone>> = {
  Pending: 'waits',
  Running: 'runs',
  Succeeded: 'ended',
  Failed: 'failed',
}

const objectState = ({ metadata, status }: PersistedObject): LaneState => {
  const phase: string = status?.phase ?? 'Pending'
  if (metadata.deletionTimestamp === undefined)
    return { text: phase, tone: getOwn(phaseTones, phase) ?? 'waits' }
  return {
    text: `Terminating, grace ${metadata.deletionGracePeriodSeconds ?? 0} s, ${phase}`,
    tone: 'ends',
  }
}

const running: LaneState = { text: 'runs', tone: 'runs' }
const endState = (end: Terminated): LaneState => ({
  text: describeEnd(end),
  tone: end.exitCode === 0 ? 'ended' : 'failed',
})

const containerState = (
  { name, state, ready }: ContainerStatus,
  pod: PersistedObject,
  stopping: ReadonlySet<string>,
): LaneState => {
  if (state?.terminated) return endState(state.terminated)
  if (!state?.running) return { text: state?.waiting?.reason ?? 'waits', tone: 'waits' }
  if (stopping.has(name)) return { text: `is stopped${howItStops(pod, name)}`, tone: 'ends' }
  return ready ? running : { text: 'runs, not ready', tone: 'waits' }
}

const endpointTone = ({ ready, terminating }: EndpointState): Tone => {
  if (ready) return 'runs'
  return terminating ? 'ends' : 'waits'
}

/** `stopping`: containers whose kubelet has said that it stops them. */
export const laneStates = (
  pod: PersistedObject,
  endpoints: EndpointStates,
  stopping: ReadonlySet<string>,
): LaneStates => {
  const states = new Map<string, LaneState>([[objectLane, objectState(pod)]])
  for (const [service, endpoint] of endpoints)
    states.set(serviceLane(service), { text: endpoint.text, tone: endpointTone(endpoint) })
  for (const status of statusesOf(pod))
    states.set(containerLane(status.name), containerState(status, pod, stopping))
  const { deletionTimestamp, finalizers = [] } = pod.metadata
  if (deletionTimestamp !== undefined && finalizers.length > 0)
    states.set(finalizersLane, { text: finalizers.join(', '), tone: 'ends' })
  return states
}

const endedPhases: readonly string[] = ['Succeeded', 'Failed']

/** Since when a Pod had the phases that it has had, as far as its status tells. */
const pastPhases = (pod: PersistedObject): { at: number; phase: string }[] => {
  const statuses: ContainerStatus[] = pod.status?.containerStatuses ?? []
  // Nobody keeps when a container started that was restarted since; it was soon after the initialization.
  const initialized = conditionOf(pod, 'Initialized')?.lastTransitionTime
  const starts = statuses.flatMap(({ restartCount = 0, state }) => {
    const began = state?.running?.startedAt ?? state?.terminated?.startedAt
    return momentOf(restartCount > 0 ? (initialized ?? began) : began) ?? []
  })
  const ends = statusesOf(pod).flatMap(({ state }) => momentOf(state?.terminated?.finishedAt) ?? [])
  const { phase } = pod.status ?? {}
  const created = momentOf(pod.metadata.creationTimestamp)
  return [
    ...(created === undefined ? [] : [{ at: created, phase: 'Pending' }]),
    ...(starts.length === 0 || phase === 'Pending'
      ? []
      : [{ at: Math.min(...starts), phase: 'Running' }]),
    ...(ends.length === 0 || !endedPhases.includes(phase)
      ? []
      : [{ at: Math.max(...ends), phase }]),
  ]
}

const pastObject = (pod: PersistedObject): PastState[] => {
  const { deletionTimestamp: _later, ...alive } = pod.metadata
  const asked = deletionAskedAt(pod)
  const phases = pastPhases(pod)
  const moments = [...phases.map(({ at }) => at), ...(asked === undefined ? [] : [asked])]
  return moments.map((at) => {
    const { phase = 'Pending' } = phases.findLast((one) => one.at <= at) ?? {}
    const metadata = asked !== undefined && asked <= at ? pod.metadata : alive
    return { lane: objectLane, at, state: objectState({ ...pod, metadata, status: { phase } }) }
  })
}

const pastContainer = ({ name, state, lastState }: ContainerStatus): PastState[] => {
  const past: PastState[] = []
  const add = (time: string | undefined, became: LaneState) => {
    const at = momentOf(time)
    if (at !== undefined) past.push({ lane: containerLane(name), at, state: became })
  }
  for (const end of [lastState?.terminated, state?.terminated]) {
    if (end === undefined) continue
    add(end.startedAt, running)
    add(end.finishedAt, endState(end))
  }
  add(state?.running?.startedAt, running)
  return past
}

/** What a Pod that is seen for the first time says of its past: its phases, and when its containers began and ended. */
export const pastStates = (pod: PersistedObject): PastState[] =>
  [...pastObject(pod), ...statusesOf(pod).flatMap(pastContainer)].sort((a, b) => a.at - b.at)
