/** One Pod as it was seen: what each of its lanes was from when on, and the steps that the command line tells, too. */
import { deletionAskedAt, graceMs } from '#api/grace-period.js'
import type { PersistedObject } from '#api/object.js'
import { limits } from '#limits'
import { type EndpointStates, endpointChanges } from '#src/timeline/endpoints.js'
import { containerBeingStopped, describeEvent } from '#src/timeline/events.js'
import { changesBetween, type Step, statusesOf, timelineOf } from '#src/timeline/timeline.js'
import { type LaneState, laneStates, pastStates } from './lanes.js'

/** A state and since when; it ends where the next span of its lane begins. Undefined: the lane is not there any more. */
export interface Span {
  readonly from: number
  readonly state: LaneState | undefined
}

const graceMsOf = ({ metadata }: PersistedObject): number =>
  metadata.deletionTimestamp === undefined ? 0 : graceMs(metadata.deletionGracePeriodSeconds ?? 0)

/** How it began and how it ends are what is looked at: what came after the beginning makes room. */
const keep = <T>(list: T[], next: T, max: number): void => {
  if (list.length >= max) list.splice(1, 1)
  list.push(next)
}

/** Milliseconds since the epoch everywhere. */
export class PodHistory {
  readonly lanes = new Map<string, Span[]>()
  readonly steps: Step[]
  /** When Events came that are about the Pod, with what they say. */
  readonly marks: Step[] = []
  #pod: PersistedObject
  #endpoints: EndpointStates = new Map()
  readonly #stopping = new Set<string>()
  #askedAt: number | undefined
  #graceOverAt: number | undefined
  #goneAt: number | undefined

  /** `events`: those that are known to be about it. */
  constructor(pod: PersistedObject, events: readonly PersistedObject[], at: number) {
    this.#pod = pod
    this.#askedAt = deletionAskedAt(pod)
    this.#graceOverAt = this.#askedAt && this.#askedAt + graceMsOf(pod)
    this.steps = timelineOf(pod, events)
    this.marks = timelineOf(undefined, events)
    for (const event of events) this.#noteStop(event)
    for (const { lane, at: since, state } of pastStates(pod)) this.#enter(lane, since, state)
    this.#look(at)
  }

  /** As it was seen last. */
  get pod(): PersistedObject {
    return this.#pod
  }
  /** When the delete was asked for. */
  get askedAt(): number | undefined {
    return this.#askedAt
  }
  /** When the grace is over that was given, or what is left of it where it was shortened. */
  get graceOverAt(): number | undefined {
    return this.#graceOverAt
  }
  get goneAt(): number | undefined {
    return this.#goneAt
  }
  get createdAt(): number {
    return this.lanes.values().next().value?.[0]?.from ?? 0
  }

  see(next: PersistedObject, at: number): void {
    const graceMs = graceMsOf(next)
    // A grace of 0 is how the kubelet says that all has ended.
    if (graceMs > 0 && graceMs !== graceMsOf(this.#pod)) this.#graceOverAt = at + graceMs
    if (next.metadata.deletionTimestamp !== undefined) this.#askedAt ??= at
    for (const what of changesBetween(this.#pod, next)) this.#tell(what, at)
    this.#pod = next
    for (const { name, state } of statusesOf(next)) if (!state?.running) this.#stopping.delete(name)
    this.#look(at)
  }

  seeEndpoints(endpoints: EndpointStates, at: number): void {
    const changes = endpointChanges(this.#endpoints, endpoints)
    if (changes.length === 0) return
    for (const what of changes) this.#tell(what, at)
    this.#endpoints = endpoints
    this.#look(at)
  }

  seeEvent(event: PersistedObject, at: number): void {
    keep(this.marks, this.#tell(describeEvent(event, this.#pod), at), limits.dashboardStepsMax)
    this.#noteStop(event)
    this.#look(at)
  }

  end(at: number): void {
    this.#goneAt = at
    this.#tell('the object is gone', at)
    for (const lane of this.lanes.keys()) this.#enter(lane, at, undefined)
  }

  #noteStop(event: PersistedObject): void {
    const name = containerBeingStopped(event)
    if (name !== undefined) this.#stopping.add(name)
  }

  #tell(what: string, at: number): Step {
    const step = { at, what, exact: true }
    keep(this.steps, step, limits.dashboardStepsMax)
    return step
  }

  #look(at: number): void {
    if (this.#goneAt !== undefined) return
    const states = laneStates(this.#pod, this.#endpoints, this.#stopping)
    for (const [lane, state] of states) this.#enter(lane, at, state)
    for (const lane of this.lanes.keys()) if (!states.has(lane)) this.#enter(lane, at, undefined)
  }

  #enter(lane: string, from: number, state: LaneState | undefined): void {
    // Anybody may write endpoints of the Pod, for ever new Services.
    if (!this.lanes.has(lane) && this.lanes.size >= limits.dashboardLanesMax) return
    const spans = this.lanes.get(lane) ?? []
    const last = spans.at(-1)?.state
    if (last?.text === state?.text && last?.tone === state?.tone) return
    keep(spans, { from, state }, limits.dashboardSpansMax)
    this.lanes.set(lane, spans)
  }
}
