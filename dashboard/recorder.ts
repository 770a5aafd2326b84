/** Follows all Pods, what their Services say of them and their Events, and keeps a history of each; of those that are gone, too. */
import type { Clock } from '#api/clock.js'
import type { PersistedObject } from '#api/object.js'
import type { Client } from '#client/client.js'
import { Informer } from '#client/informer.js'
import type { Log } from '#client/log.js'
import { type ResourceRef, resources } from '#client/resources.js'
import { limits } from '#limits'
import { endpointsOf } from '#src/timeline/endpoints.js'
import { isAbout } from '#src/timeline/events.js'
import { explainTerminating } from '#src/timeline/explain.js'
import { PodHistory } from './pod-history.js'

interface RecorderDeps {
  readonly client: Client
  readonly clock: Clock
  readonly log: Log
}

const coreEvents: ResourceRef = { ...resources.events, group: '' }
const byTarget = 'target'
const bySubject = 'subject'

const targetsOf = ({ endpoints }: PersistedObject): string[] =>
  ((endpoints ?? []) as { targetRef?: { uid?: string } }[]).flatMap(({ targetRef }) =>
    targetRef?.uid === undefined ? [] : [targetRef.uid],
  )
const subjectOf = ({ involvedObject }: PersistedObject): string[] =>
  involvedObject?.uid === undefined ? [] : [involvedObject.uid]

export class Recorder {
  /** By uid, those that went first in front. */
  readonly histories = new Map<string, PodHistory>()
  readonly #clock: Clock
  readonly #pods: Informer
  readonly #slices: Informer
  readonly #events: Informer
  readonly #nodes: Informer
  readonly #listeners = new Set<() => void>()

  constructor({ client, clock, log }: RecorderDeps) {
    this.#clock = clock
    const follow = (ref: ResourceRef) => new Informer({ client, ref, log })
    this.#pods = follow(resources.pods)
    this.#slices = follow(resources.endpointSlices)
    this.#events = follow(coreEvents)
    this.#nodes = follow(resources.nodes)
    this.#slices.store.addIndex(byTarget, targetsOf)
    this.#events.store.addIndex(bySubject, subjectOf)
    this.#follow()
  }

  #follow(): void {
    const see = (pod: PersistedObject) => this.#see(pod)
    this.#pods.handle({
      onAdd: see,
      onUpdate: see,
      onDelete: (last) => {
        see(last)
        this.#end(last)
      },
    })
    const look = (...slices: PersistedObject[]) => {
      for (const uid of new Set(slices.flatMap(targetsOf))) this.#seeEndpoints(uid)
    }
    this.#slices.handle({ onAdd: look, onUpdate: look, onDelete: look })
    const tell = (event: PersistedObject) => this.#seeEvent(event)
    this.#events.handle({ onAdd: tell, onUpdate: tell })
  }

  /** Resolves when the signal fires. Events come first: those of a Pod's past are part of it, and did not happen now. */
  async run(signal: AbortSignal): Promise<void> {
    const others = [this.#slices, this.#events, this.#nodes]
    const running = Promise.all(others.map((informer) => informer.run(signal)))
    await Promise.race([running, Promise.all(others.map((informer) => informer.synced()))])
    await Promise.all([running, this.#pods.run(signal)])
  }

  /** `listener` is told that something may have changed; what is returned ends that. */
  onChange(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => void this.#listeners.delete(listener)
  }

  /** Why a Pod is still there; empty for one that is gone or not asked to go. */
  explain({ pod, goneAt }: PodHistory): readonly string[] {
    if (goneAt !== undefined) return []
    const node = this.#nodes.store.get(pod.spec?.nodeName ?? '')
    return explainTerminating({ pod, node, now: this.#clock.now() })
  }

  #changed(): void {
    for (const listener of this.#listeners) listener()
  }

  #see(pod: PersistedObject): void {
    const { uid } = pod.metadata
    const known = this.histories.get(uid)
    if (known !== undefined) known.see(pod, this.#clock.now())
    else {
      const events = this.#eventsAbout(pod)
      this.histories.set(uid, new PodHistory(pod, events, this.#clock.now()))
      this.#seeEndpoints(uid)
    }
    this.#changed()
  }

  #end({ metadata }: PersistedObject): void {
    const { uid } = metadata
    const history = this.histories.get(uid)
    if (history === undefined) return
    history.end(this.#clock.now())
    const gone = [...this.histories].filter(([, { goneAt }]) => goneAt !== undefined)
    if (gone.length > limits.dashboardGonePodsMax) {
      const first = gone.reduce((a, b) => (a[1].goneAt! <= b[1].goneAt! ? a : b))
      this.histories.delete(first[0])
    }
    this.#changed()
  }

  #seeEndpoints(uid: string): void {
    const history = this.histories.get(uid)
    if (history === undefined || history.goneAt !== undefined) return
    const slices = this.#slices.store.byIndex(byTarget, uid)
    history.seeEndpoints(endpointsOf(slices, uid), this.#clock.now())
    this.#changed()
  }

  #eventsAbout(pod: PersistedObject): PersistedObject[] {
    const { uid, ownerReferences = [] } = pod.metadata
    return [uid, ...ownerReferences.map((owner) => owner.uid)]
      .flatMap((subject) => this.#events.store.byIndex(bySubject, subject))
      .filter((event) => isAbout(event, pod))
  }

  #seeEvent(event: PersistedObject): void {
    for (const history of this.histories.values())
      if (isAbout(event, history.pod)) history.seeEvent(event, this.#clock.now())
    this.#changed()
  }
}
