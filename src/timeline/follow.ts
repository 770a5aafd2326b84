/**
 * Tells how a Pod goes on until it is gone: its changes, its Events and those of its owner, whether its Services find
 * it, and while nothing happens what it waits for.
 */

import { type Clock, parseTime } from '#api/clock.js'
import { controllerRefOf } from '#api/controller-ref.js'
import { deletionAskedAt } from '#api/grace-period.js'
import type { PersistedObject } from '#api/object.js'
import type { Client } from '#client/client.js'
import { Informer } from '#client/informer.js'
import { silentLog } from '#client/log.js'
import { type ResourceRef, resources } from '#client/resources.js'
import { type EndpointStates, endpointChanges, endpointsOf } from './endpoints.js'
import { describeEvent, isAbout } from './events.js'
import { changesBetween } from './timeline.js'

/** How long a Pod that is being deleted may show nothing before its reason is asked for. */
const quietMs = 3_000
const lookMs = 1_000

interface FollowOptions {
  readonly client: Client
  readonly clock: Clock
  readonly signal: AbortSignal
  readonly pod: PersistedObject
  /** Events that have been told, by uid, with their resourceVersion. */
  readonly told: ReadonlyMap<string, string>
  readonly events: ResourceRef
  /** `origin` is when the delete was asked for, or the Pod was created as long as it was not. */
  tell(step: { at: number; what: string }, origin: number): void
  explain(pod: PersistedObject): Promise<readonly string[]>
  print(line: string): void
}

/** The same reason with another number of seconds is no news. */
const withoutNumbers = (text: string): string => text.replace(/\d+/g, '')

class Follower {
  readonly #options: FollowOptions
  readonly #gone = new AbortController()
  readonly #signal: AbortSignal
  readonly #explained = new Set<string>()
  #pod: PersistedObject
  #endpoints: EndpointStates = new Map()
  readonly #createdAt: number
  #askedAt: number | undefined
  #lastAt: number

  constructor(options: FollowOptions) {
    this.#options = options
    this.#signal = AbortSignal.any([options.signal, this.#gone.signal])
    this.#pod = options.pod
    this.#createdAt = parseTime(options.pod.metadata.creationTimestamp!)
    this.#askedAt = deletionAskedAt(options.pod)
    this.#lastAt = options.clock.now()
  }

  async run(): Promise<void> {
    const pods = this.#followPod()
    const slices = this.#followEndpoints()
    const events = this.#subjects().map((uid) => this.#followEvents(uid))
    // A server that does not answer now may the next time.
    const timer = setInterval(() => void this.#sayWhy().catch(() => {}), lookMs)
    const following = pods.run(this.#signal)
    await Promise.race([pods.synced(), following])
    const { name, namespace, uid } = this.#options.pod.metadata
    // It may have gone before the first look.
    if (pods.store.get(`${namespace}/${name}`)?.metadata.uid !== uid && !this.#signal.aborted)
      this.#end()
    await Promise.all([following, ...[slices, ...events].map((one) => one.run(this.#signal))])
    clearInterval(timer)
  }

  #end(): void {
    this.#tell('the object is gone')
    this.#gone.abort()
  }

  #tell(what: string): void {
    this.#lastAt = this.#options.clock.now()
    this.#options.tell({ at: this.#lastAt, what }, this.#askedAt ?? this.#createdAt)
  }

  #informer(ref: ResourceRef, fieldSelector?: string): Informer {
    const { client, pod } = this.#options
    return new Informer({
      client,
      ref,
      namespace: pod.metadata.namespace,
      log: silentLog,
      ...(fieldSelector === undefined ? {} : { fieldSelector }),
    })
  }

  #followPod(): Informer {
    const { uid, name } = this.#options.pod.metadata
    const pods = this.#informer(resources.pods, `metadata.name=${name}`)
    const see = (next: PersistedObject) => this.#see(next)
    pods.handle({
      onAdd: see,
      onUpdate: see,
      onDelete: (last) => {
        if (last.metadata.uid !== uid) return
        see(last)
        this.#end()
      },
    })
    return pods
  }

  #see(next: PersistedObject): void {
    if (next.metadata.uid !== this.#pod.metadata.uid) return
    if (next.metadata.deletionTimestamp) this.#askedAt ??= this.#options.clock.now()
    for (const what of changesBetween(this.#pod, next)) this.#tell(what)
    this.#pod = next
  }

  #followEndpoints(): Informer {
    const slices = this.#informer(resources.endpointSlices)
    const look = () => {
      const before = this.#endpoints
      this.#endpoints = endpointsOf(slices.store.list(), this.#pod.metadata.uid)
      for (const what of endpointChanges(before, this.#endpoints)) this.#tell(what)
    }
    slices.handle({ onAdd: look, onUpdate: look, onDelete: look })
    return slices
  }

  /** Whose Events may be about the Pod: its own, and its controller's. */
  #subjects(): string[] {
    const { pod } = this.#options
    const owner = controllerRefOf(pod)
    return owner ? [pod.metadata.uid, owner.uid] : [pod.metadata.uid]
  }

  #followEvents(subject: string): Informer {
    const { told, events: ref } = this.#options
    const events = this.#informer(ref, `involvedObject.uid=${subject}`)
    const see = (event: PersistedObject) => {
      const isTold = told.get(event.metadata.uid) === event.metadata.resourceVersion
      if (!isTold && isAbout(event, this.#pod)) this.#tell(describeEvent(event, this.#pod))
    }
    events.handle({ onAdd: see, onUpdate: see })
    return events
  }

  async #sayWhy(): Promise<void> {
    const { clock, explain, print } = this.#options
    if (!this.#pod.metadata.deletionTimestamp || clock.now() - this.#lastAt < quietMs) return
    for (const reason of await explain(this.#pod)) {
      const known = withoutNumbers(reason)
      if (this.#explained.has(known) || this.#signal.aborted) continue
      this.#explained.add(known)
      print(reason)
    }
  }
}

/** Resolves when the Pod is gone, or the signal fires. */
export const followPod = (options: FollowOptions): Promise<void> => new Follower(options).run()
