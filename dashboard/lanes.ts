/** The parts of a Pod's life that are drawn as bars, and the state of each at one moment. Pure. */
import { parseTime } from '#api/clock.js'
import type { PersistedObject } from '#api/object.js'
import { describeEnd, type Terminated } from '#src/timeline/describe-end.js'
import type { EndpointState, EndpointStates } from '#src/timeline/endpoints.js'
import { howItStops } from '#src/timeline/events.js'
import { type ContainerStatus, deletionAskedAt, statusesOf } from '#src/timeline/timeline.js'

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
    return { text: phase, tone: phaseTones[phase] ?? 'waits' }
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

/** What a Pod that is seen for the first time says of its past: when it was made, and when its containers began and ended. */
export const pastStates = (pod: PersistedObject): PastState[] => {
  const past: PastState[] = []
  const add = (lane: string, time: string | null | undefined, state: LaneState) => {
    if (time) past.push({ lane, at: parseTime(time), state })
  }
  const { metadata, ...rest } = pod
  const { deletionTimestamp: _later, ...alive } = metadata
  add(objectLane, metadata.creationTimestamp, { text: 'Pending', tone: 'waits' })
  for (const { name, state } of statusesOf(pod)) {
    const began = state?.running?.startedAt ?? state?.terminated?.startedAt
    add(containerLane(name), began, running)
    add(objectLane, began, objectState({ ...rest, metadata: alive }))
    if (state?.terminated)
      add(containerLane(name), state.terminated.finishedAt, endState(state.terminated))
  }
  const asked = deletionAskedAt(pod)
  if (asked !== undefined) past.push({ lane: objectLane, at: asked, state: objectState(pod) })
  return past.sort((a, b) => a.at - b.at)
}
