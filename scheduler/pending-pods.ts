/**
 * Pods that wait for a node, by priority and then by age. A Pod that fitted nowhere waits for a change in the cluster and,
 * while there are others to try, for its back-off (by default 1 s doubling to 10 s); after a while it is tried anyway.
 */
import { keyOf } from '#client/object-store.js'
import { isTerminating, type Pod } from '#client/pod.js'
import { Heap } from '#collections/heap.js'
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
  /** How many came before it. */
  readonly turn: number
  isGone: boolean
  /** Stands among those that are due, where one that is no longer due is found only when its turn comes. */
  isQueued: boolean
  /** Until when it waits. Undefined: it is due. */
  due: Due | undefined
}

interface Due {
  readonly entry: Entry
  readonly atMs: number
}

/** Upstream's podMaxInUnschedulablePodsDuration. */
const parkedMaxMs = 300_000

export class PendingPods {
  readonly #entries = new Map<string, Entry>()
  /** Those that are due, and some that were; upstream's activeQ. */
  readonly #queue = new Heap<Entry>(isBefore)
  /** Due, but being bound. */
  #aside: Entry[] = []
  /** Those that wait, and some that waited; what counts is the one that its entry has. */
  readonly #waiting = new Heap<Due>((a, b) => a.atMs < b.atMs)
  /** Parked, or tried since the last change: only to these a change means something. */
  readonly #wakeable = new Set<Entry>()
  #turns = 0
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
      if (isAnother) this.#wakeEntry(known)
    } else {
      this.remove(keyOf(pod))
      const entry: Entry = {
        pod,
        refusals: 0,
        errors: 0,
        notBeforeMs: 0,
        parkedUntilMs: undefined,
        isWoken: false,
        isWokenByAny: false,
        needsRoom: true,
        turn: this.#turns++,
        isGone: false,
        isQueued: false,
        due: undefined,
      }
      this.#entries.set(keyOf(pod), entry)
      this.#place(entry)
    }
    this.#wake?.()
  }
  remove(key: string): void {
    const entry = this.#entries.get(key)
    if (entry === undefined) return
    this.#entries.delete(key)
    this.#wakeable.delete(entry)
    entry.isGone = true
  }

  /** An attempt begins, which may not see what changes from now on. */
  begin(pod: Pod): void {
    const entry = this.#entries.get(keyOf(pod))
    if (entry === undefined) return
    entry.isWoken = false
    this.#wakeable.add(entry)
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
    if (options.park && !entry.isWoken) this.#park(entry)
    else entry.parkedUntilMs = undefined
    this.#place(entry)
  }

  /** The Pod waits for a change, without a back-off: what it needs is on its way. */
  waits(pod: Pod): void {
    const entry = this.#entries.get(keyOf(pod))
    if (entry === undefined) return
    this.#park(entry)
    this.#place(entry)
  }
  #park(entry: Entry): void {
    entry.parkedUntilMs = this.#now() + parkedMaxMs
    this.#wakeable.add(entry)
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
    for (const entry of this.#wakeable)
      if (entry.isWokenByAny || isHelped(entry)) this.#wakeEntry(entry)
    this.#wake?.()
  }
  #wakeEntry(entry: Entry): void {
    entry.parkedUntilMs = undefined
    entry.isWoken = true
    this.#wakeable.delete(entry)
    this.#place(entry)
  }

  /** To where its times say. */
  #place(entry: Entry): void {
    const { notBeforeMs, parkedUntilMs = 0, due } = entry
    const atMs = Math.max(notBeforeMs, parkedUntilMs)
    if (atMs > this.#now()) {
      if (due?.atMs === atMs) return
      entry.due = { entry, atMs }
      this.#waiting.push(entry.due)
      if (this.#hasTooMany(this.#waiting))
        this.#waiting.keep((one) => one.entry.due === one && !one.entry.isGone)
      return
    }
    entry.due = undefined
    if (entry.isQueued) return
    entry.isQueued = true
    this.#queue.push(entry)
    if (this.#hasTooMany(this.#queue)) this.#queue.keep(isDue)
  }

  /** Most do not count any more, and their turn may never come. */
  #hasTooMany({ size }: { readonly size: number }): boolean {
    return size > 2 * this.#entries.size + 10
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
    const waitMs = this.#queueDue()
    return { entry: this.#firstDue(busy) ?? this.#early(busy), waitMs }
  }

  /** Queues whose time has come, and returns how long the next ones wait. */
  #queueDue(): number {
    const now = this.#now()
    for (let next = this.#waiting.first; next !== undefined; next = this.#waiting.first) {
      const { entry, atMs } = next
      const counts = entry.due === next && !entry.isGone
      if (counts && atMs > now) return Math.min(parkedMaxMs, atMs - now)
      this.#waiting.pop()
      if (counts) this.#place(entry)
    }
    return parkedMaxMs
  }

  #firstDue(busy: ReadonlySet<string>): Entry | undefined {
    const aside = this.#aside
    this.#aside = []
    for (const entry of aside)
      if (busy.has(keyOf(entry.pod))) this.#aside.push(entry)
      else this.#queue.push(entry)
    for (let first = this.#queue.first; first !== undefined; first = this.#queue.first) {
      const counts = isDue(first)
      if (counts && !busy.has(keyOf(first.pod))) return first
      this.#queue.pop()
      if (counts) this.#aside.push(first)
    }
    return undefined
  }

  /**
   * Who comes before its back-off is over if there is nobody else (upstream: SchedulerPopFromBackoffQ). After an error it
   * is waited for even then.
   */
  #early(busy: ReadonlySet<string>): Entry | undefined {
    const now = this.#now()
    let early: Entry | undefined
    for (const [key, entry] of this.#entries) {
      const { parkedUntilMs = 0, errors, due } = entry
      if (due === undefined || parkedUntilMs > now || errors > 0 || busy.has(key)) continue
      if (early === undefined || isBefore(entry, early)) early = entry
    }
    return early
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

/** Of one that stands in the queue, and does no longer if it is not. */
const isDue = (entry: Entry): boolean => {
  entry.isQueued = !entry.isGone && entry.due === undefined
  return entry.isQueued
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

const isBefore = (a: Entry, b: Entry): boolean => {
  const [one, other] = [a.pod, b.pod]
  if (priorityOf(one) !== priorityOf(other)) return priorityOf(one) > priorityOf(other)
  const made = one.metadata.creationTimestamp ?? ''
  const otherMade = other.metadata.creationTimestamp ?? ''
  return made === otherMade ? a.turn < b.turn : made < otherMade
}
