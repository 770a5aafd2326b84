/** Tells how a Pod goes on until it is gone: its changes, its Events, and while nothing happens what it waits for. */
import type { Clock } from '#api/clock.js'
import type { KubeObject } from '#api/object.js'
import type { Client } from '#client/client.js'
import { Informer } from '#client/informer.js'
import { silentLog } from '#client/log.js'
import { type ResourceRef, resources } from '#client/resources.js'
import { changesBetween, deletionAskedAt, describeEvent } from './timeline.js'

/** A Pod that was to go and shows nothing for so long is asked why. */
const quietMs = 3_000
const lookMs = 1_000

export interface FollowOptions {
  readonly client: Client
  readonly clock: Clock
  readonly signal: AbortSignal
  readonly pod: KubeObject
  /** Events that have been told, by uid, with their resourceVersion. */
  readonly told: ReadonlyMap<string, string>
  readonly events: ResourceRef
  /** `origin` is when the delete was asked for, or `at` as long as it was not. */
  tell(step: { at: number; what: string }, origin: number): void
  explain(pod: KubeObject): Promise<readonly string[]>
  print(line: string): void
}

/** The same reason a second later is no news. */
const withoutNumbers = (text: string): string => text.replace(/\d+/g, '')

export const followPod = async (options: FollowOptions): Promise<void> => {
  const { client, clock, pod, told, print, explain } = options
  const { uid, name, namespace } = pod.metadata
  const gone = new AbortController()
  const signal = AbortSignal.any([options.signal, gone.signal])
  const explained = new Set<string>()
  let current = pod
  let askedAt = deletionAskedAt(pod)
  let lastAt = clock.now()

  const tell = (what: string): void => {
    lastAt = clock.now()
    options.tell({ at: lastAt, what }, askedAt ?? lastAt)
  }
  const see = (next: KubeObject): void => {
    if (next.metadata.uid !== uid) return
    if (next.metadata.deletionTimestamp) askedAt ??= clock.now()
    for (const what of changesBetween(current, next)) tell(what)
    current = next
  }
  const seeEvent = (event: KubeObject): void => {
    if (told.get(event.metadata.uid!) !== event.metadata.resourceVersion) tell(describeEvent(event))
  }
  const pods = new Informer({
    client,
    ref: resources.pods,
    namespace: namespace!,
    fieldSelector: `metadata.name=${name}`,
    log: silentLog,
  })
  pods.handle({
    onAdd: see,
    onUpdate: see,
    onDelete: (last) => {
      if (last.metadata.uid !== uid) return
      see(last)
      tell('the object is gone')
      gone.abort()
    },
  })
  const events = new Informer({
    client,
    ref: options.events,
    namespace: namespace!,
    fieldSelector: `involvedObject.uid=${uid}`,
    log: silentLog,
  })
  events.handle({ onAdd: seeEvent, onUpdate: seeEvent })

  const sayWhy = async (): Promise<void> => {
    if (!current.metadata.deletionTimestamp || clock.now() - lastAt < quietMs) return
    for (const reason of await explain(current)) {
      const known = withoutNumbers(reason)
      if (explained.has(known) || signal.aborted) continue
      explained.add(known)
      print(reason)
    }
  }
  // A server that does not answer now may the next time.
  const timer = setInterval(() => void sayWhy().catch(() => {}), lookMs)
  const following = pods.run(signal)
  await Promise.race([pods.synced(), following])
  // It may have gone before the first look.
  if (pods.store.get(`${namespace}/${name}`)?.metadata.uid !== uid && !signal.aborted) {
    tell('the object is gone')
    gone.abort()
  }
  await Promise.all([following, events.run(signal)])
  clearInterval(timer)
}
