/**
 * Pods that wait for a node, by priority and then by age. A Pod that fitted nowhere waits for a change in the cluster and,
 * while there are others to try, for its back-off (by default 1 s doubling to 10 s); after a while it is tried anyway.
 */
import { keyOf } from '#client/object-store.js'
import { isTerminating, type Pod } from '#client/pod.js'
import { jsonEqual } from '#json/object.js'
import type { Backoff } from './configuration/read-configuration.js'
import { priorityOf } from './priority.js'
import type { Concerns } from './waking-changes.js'

interface Entry {
  pod: Pod
  /** How often it fitted nowhere, and how often in a row something went wrong. */
  refusals: number
  errors: number
  /** Milliseconds of the monotonic clock before which it is not tried. */
  notBeforeMs: number
  /** Waits for a change, at most until then. */
  parkedUntilMs: number | undefined
  /** Something has changed since the last attempt began. */
  isWoken: boolean
  /** Any change may help, of itself, too. */
  isWokenByAny: boolean
  /** Some node refused it for what is on it. */
  needsRoom: boolean
}

/** Upstream's podMaxInUnschedulablePodsDuration. */
const parkedMaxMs = 300_000

export class PendingPods {
  readonly #entries = new Map<string, Entry>()
  readonly #now: () => number
  readonly #backoff: Backoff
  #wake: (() => void) | undefined

  constructor(now: () => number, backoff: Backoff) {
    this.#now = now
    this.#backoff = backoff
  }

  /** A new or changed Pod; a change of the Pod itself is a reason to try again. */
  put(pod: Pod): void {
    const known = this.#entries.get(keyOf(pod))
    if (known !== undefined && known.pod.metadata.uid === pod.metadata.uid) {
      const isAnother =
        hasChanged(known.pod, pod) || (known.isWokenByAny && isNewer(known.pod, pod))
      known.pod = pod
      if (isAnother) wake(known)
    } else
      this.#entries.set(keyOf(pod), {
        pod,
        refusals: 0,
        errors: 0,
        notBeforeMs: 0,
        parkedUntilMs: undefined,
        isWoken: false,
        isWokenByAny: false,
        needsRoom: true,
      })
    this.#wake?.()
  }
  remove(key: string): void {
    this.#entries.delete(key)
  }

  /** An attempt begins, which may not see what changes from now on. */
  begin(pod: Pod): void {
    const entry = this.#entries.get(keyOf(pod))
    if (entry !== undefined) entry.isWoken = false
  }

  /**
   * The Pod could not be scheduled. `park`: it waits for a change in the cluster, if there was none during the attempt;
   * else only for its back-off.
   */
  failed(pod: Pod, options: { park: boolean; isWokenByAny?: boolean; needsRoom?: boolean }): void {
    const entry = this.#entries.get(keyOf(pod))
    // Another one of its name may have come meanwhile.
    if (entry?.pod.metadata.uid !== pod.metadata.uid) return
    const now = this.#now()
    const { initialMs, longestMs } = this.#backoff
    const times = options.park ? entry.refusals++ : entry.errors++
    if (options.park) entry.errors = 0
    entry.notBeforeMs = now + Math.min(longestMs, initialMs * 2 ** times)
    entry.isWokenByAny = options.isWokenByAny ?? false
    entry.needsRoom = options.needsRoom ?? true
    entry.parkedUntilMs = options.park && !entry.isWoken ? now + parkedMaxMs : undefined
  }

  /** The Pod waits for a change, without a back-off: what it needs is on its way. */
  waits(pod: Pod): void {
    const entry = this.#entries.get(keyOf(pod))
    if (entry !== undefined) entry.parkedUntilMs = this.#now() + parkedMaxMs
  }

  /** Something changed that may make room. */
  unparkAll(): void {
    this.unpark(() => true)
  }
  /** The same, where it can matter only to some. */
  unpark(concerns: Concerns): void {
    this.#wakeWhere((entry) => concerns(entry.pod))
  }
  /** Somebody left a node, or takes less of it. */
  roomLeft(concerns: Concerns = () => true): void {
    this.#wakeWhere((entry) => entry.needsRoom && concerns(entry.pod))
  }
  #wakeWhere(isHelped: (entry: Entry) => boolean): void {
    for (const entry of this.#entries.values())
      if (entry.isWokenByAny || isHelped(entry)) wake(entry)
    this.#wake?.()
  }

  /** By what they wait for. */
  counts(): { active: number; backoff: number; unschedulable: number } {
    const counts = { active: 0, backoff: 0, unschedulable: 0 }
    const now = this.#now()
    for (const { notBeforeMs, parkedUntilMs = 0 } of this.#entries.values()) {
      if (parkedUntilMs > now) counts.unschedulable++
      else if (notBeforeMs > now) counts.backoff++
      else counts.active++
    }
    return counts
  }

  /** The next Pod that is due; undefined when the signal fired. The Pod stays known until `remove`. */
  async next(busy: ReadonlySet<string>, signal: AbortSignal): Promise<Pod | undefined> {
    while (!signal.aborted) {
      const { entry, waitMs } = this.#best(busy)
      if (entry !== undefined) return entry.pod
      await this.#changed(waitMs, signal)
    }
    return undefined
  }

  #best(busy: ReadonlySet<string>): { entry: Entry | undefined; waitMs: number } {
    const now = this.#now()
    let best: Entry | undefined
    // Who comes early if there is nobody else. Upstream: SchedulerPopFromBackoffQ.
    let early: Entry | undefined
    let waitMs = parkedMaxMs
    for (const [key, entry] of this.#entries) {
      if (busy.has(key)) continue
      const { notBeforeMs, parkedUntilMs = 0 } = entry
      const dueMs = Math.max(notBeforeMs, parkedUntilMs)
      if (dueMs > now) {
        waitMs = Math.min(waitMs, dueMs - now)
        // After an error it is waited for even if there is nobody else.
        if (parkedUntilMs <= now && entry.errors === 0) early = firstOf(entry, early)
      } else best = firstOf(entry, best)
    }
    return { entry: best ?? early, waitMs }
  }

  #changed(waitMs: number, signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const done = (): void => {
        clearTimeout(timer)
        signal.removeEventListener('abort', done)
        this.#wake = undefined
        resolve()
      }
      const timer = setTimeout(done, waitMs)
      signal.addEventListener('abort', done, { once: true })
      this.#wake = done
    })
  }
}

const wake = (entry: Entry): void => {
  entry.parkedUntilMs = undefined
  entry.isWoken = true
}

const isNewer = (known: Pod, pod: Pod): boolean =>
  known.metadata.resourceVersion !== pod.metadata.resourceVersion

/**
 * Of a Pod's status only the names of claims that were made for it matter: the rest is our own report. That it is to go is
 * no reason to try it again.
 */
const hasChanged = (known: Pod, pod: Pod): boolean =>
  (known.metadata.generation !== pod.metadata.generation && !isTerminating(pod)) ||
  !jsonEqual(known.metadata.labels, pod.metadata.labels) ||
  !jsonEqual(known.status?.resourceClaimStatuses, pod.status?.resourceClaimStatuses)

const firstOf = (a: Entry, b: Entry | undefined): Entry =>
  b === undefined || isBefore(a.pod, b.pod) ? a : b

const isBefore = (a: Pod, b: Pod): boolean =>
  priorityOf(a) > priorityOf(b) ||
  (priorityOf(a) === priorityOf(b) &&
    (a.metadata.creationTimestamp ?? '') < (b.metadata.creationTimestamp ?? ''))
