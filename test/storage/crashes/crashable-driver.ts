/**
 * A store on a disk that forgets: what was not synced is there after a crash, or not, or half. It is a right driver as
 * it stands; each planted bug shows only once it was crashed and opened again.
 */
import { setImmediate as turn } from 'node:timers/promises'
import type { Clock } from '#api/clock.js'
import {
  type Compare,
  type EventBatch,
  type KeyValue,
  type Operation,
  type RangeOptions,
  type RangeResult,
  type StorageDriver,
  StorageError,
  type StorageEvent,
  type TransactionResult,
  type WatchOptions,
} from '#storage/driver.js'
import { firstRevision, Mvcc, type PlannedEvent } from '#storage/mvcc.js'

export const crashBugs = [
  'a write is acknowledged before it is synced',
  'a write is shown before it is synced',
  'a torn write is taken for whole',
  'what was refused for lack of space is found again',
  'what was written last is done again',
  'the revision is that of the newest key',
  'history is forgotten, and nobody is told',
  'a compaction is forgotten',
  'a compaction brings back what was deleted',
  'lifetimes are forgotten',
  'lifetimes begin anew',
  'creation is that of the newest value',
  'the value before a change is forgotten',
] as const

export type CrashBug = (typeof crashBugs)[number]

interface Entry {
  readonly revision: number
  readonly events: readonly StorageEvent[]
  /** When the values of `events` end, in ms since the epoch; 0: never. */
  readonly expiries: readonly number[]
  readonly lifetimes: readonly number[]
  readonly compacted: number
  /** Its checksum does not hold. */
  readonly isTorn?: boolean
}

export class Disk {
  entries: Entry[] = []
  #synced = 0

  append(entry: Entry): void {
    this.entries.push(entry)
  }

  /** How much a crash may take. */
  get unsynced(): number {
    return this.entries.length - this.#synced
  }

  sync(): void {
    this.#synced = this.entries.length
  }

  /** Of what was not synced some is there, the last of it perhaps in part. */
  crash(random: () => number): void {
    const kept = this.#synced + Math.floor(random() * (this.entries.length - this.#synced + 1))
    const torn = this.entries[kept]
    this.entries.length = kept
    if (torn !== undefined && torn.events.length > 1)
      this.entries.push({ ...torn, events: torn.events.slice(0, 1), isTorn: true })
    this.#synced = this.entries.length
  }
}

export class CrashableDriver implements StorageDriver {
  readonly name = 'memory'
  readonly shared = false
  readonly #disk: Disk
  readonly #clock: Clock
  readonly #bug: CrashBug | undefined
  readonly #state: Mvcc
  readonly #expiries = new Map<string, number>()
  #last: Promise<unknown> = Promise.resolve()
  #writes = 0
  #isDead = false

  constructor(disk: Disk, clock: Clock, bug?: CrashBug) {
    this.#disk = disk
    this.#clock = clock
    this.#bug = bug
    this.#state = this.#replay()
  }

  /** Ends it as the end of its process would: nobody gets an answer any more. */
  crash(random: () => number): void {
    this.#isDead = true
    this.#disk.crash(random)
    this.#state.close(new StorageError('Closed', 'crashed'))
  }

  async headRevision(): Promise<number> {
    return this.#state.head
  }

  async get(key: string): Promise<{ kv: KeyValue | undefined; revision: number }> {
    return { kv: this.#state.get(key), revision: this.#state.head }
  }

  async range(options: RangeOptions): Promise<RangeResult> {
    return this.#state.range(options)
  }

  txn(compares: readonly Compare[], operations: readonly Operation[]): Promise<TransactionResult> {
    return this.#inTurn(() => this.#write(compares, operations))
  }

  watch(options: WatchOptions): AsyncIterable<EventBatch> {
    return this.#state.watch(options)
  }

  compact(revision: number): Promise<void> {
    return this.#inTurn(async () => {
      const { head } = this.#state
      const compacted = Math.max(revision, this.#state.compacted)
      this.#disk.append({ revision: head, events: [], expiries: [], lifetimes: [], compacted })
      await this.#sync()
      this.#state.compact(revision)
    })
  }

  compactedRevision(): number {
    return this.#state.compacted
  }

  async health(): Promise<undefined> {}

  async close(): Promise<void> {
    this.#state.close(new StorageError('Closed', 'closed'))
  }

  /** Removes what has come to its end. */
  async expire(): Promise<void> {
    for (const [key, at] of this.#expiries) {
      const modRevision = this.#state.get(key)?.modRevision
      if (at > this.#clock.now() || modRevision === undefined) continue
      // Where there is no room now, the next look finds it again.
      await this.txn([{ key, modRevision }], [{ type: 'delete', key }]).catch((error) => {
        if (!(error instanceof StorageError) || error.code !== 'NoSpace') throw error
      })
    }
  }

  async #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const before = this.#last
    const done = before.then(work)
    this.#last = done.catch(() => {})
    const result = await done
    return this.#isDead ? new Promise(() => {}) : result
  }

  async #sync(): Promise<void> {
    await turn()
    await turn()
    if (this.#isDead) return new Promise(() => {})
    this.#disk.sync()
  }

  async #write(
    compares: readonly Compare[],
    operations: readonly Operation[],
  ): Promise<TransactionResult> {
    const plan = this.#state.plan([{ compares, operations }])
    const outcome = { revision: plan.revision, ...plan.outcomes[0]! }
    if (plan.events.length === 0) return outcome
    const { events, revision } = plan
    const lifetimes = events.map(({ ttlSeconds = 0 }: PlannedEvent) => ttlSeconds * 1000)
    const expiries = lifetimes.map((ms) => (ms === 0 ? 0 : this.#clock.now() + ms))
    const entry = { revision, events, expiries, lifetimes, compacted: this.#state.compacted }
    this.#disk.append(entry)
    if (this.#bug === 'what was refused for lack of space is found again' && this.#isFull())
      throw new StorageError('NoSpace', 'planted')
    if (this.#bug === 'a write is acknowledged before it is synced') {
      setTimeout(() => this.#isDead || this.#disk.sync(), 3)
      await turn()
      this.#publish(entry)
      return outcome
    }
    const isEarly = this.#bug === 'a write is shown before it is synced'
    if (isEarly) this.#publish(entry)
    await this.#sync()
    if (!isEarly) this.#publish(entry)
    return outcome
  }

  /** Now and then; whoever writes next has room again. */
  #isFull(): boolean {
    return ++this.#writes % 15 === 0
  }

  #publish({ events, expiries, revision }: Entry): void {
    this.#note(events, expiries)
    this.#state.publish(events, revision)
  }

  #note(events: readonly StorageEvent[], expiries: readonly number[]): void {
    for (const [i, { key }] of events.entries()) {
      if (expiries[i] === 0) this.#expiries.delete(key)
      else this.#expiries.set(key, expiries[i]!)
    }
  }

  #replay(): Mvcc {
    const bug = this.#bug
    const isWhole = ({ isTorn = false }: Entry) =>
      bug === 'a torn write is taken for whole' || !isTorn
    const entries = this.#disk.entries.filter(isWhole)
    this.#disk.entries = entries
    this.#disk.sync()
    if (bug === 'what was written last is done again') this.#again(entries)
    const compacted = Math.max(firstRevision, ...entries.map((entry) => entry.compacted))
    const head = Math.max(firstRevision, ...entries.map((entry) => entry.revision))
    const all = entries.flatMap((entry) => entry.events)
    if (bug !== 'lifetimes are forgotten')
      for (const { events, expiries, lifetimes } of entries)
        this.#note(
          events,
          bug === 'lifetimes begin anew'
            ? lifetimes.map((ms) => (ms === 0 ? 0 : this.#clock.now() + ms))
            : expiries,
        )
    const current = new Map<string, KeyValue>()
    const play = (event: StorageEvent): StorageEvent => {
      const { key, value, revision } = event
      const previous = current.get(key)
      if (value === undefined) {
        const stays = bug === 'a compaction brings back what was deleted' && revision <= compacted
        if (!stays) current.delete(key)
        return { ...event, previous }
      }
      const isNew = bug === 'creation is that of the newest value' || previous === undefined
      const createRevision = isNew ? revision : previous.createRevision
      const kv = { ...value, createRevision }
      current.set(key, kv)
      const isForgotten =
        bug === 'the value before a change is forgotten' &&
        (previous?.modRevision ?? 0) <= compacted
      return { ...event, value: kv, previous: isForgotten ? undefined : previous }
    }
    for (const event of all) if (event.revision <= compacted) play(event)
    const isBare = bug === 'history is forgotten, and nobody is told'
    const from = isBare ? head : compacted
    for (const event of all) if (isBare && event.revision > compacted) play(event)
    const state = new Mvcc(from, bug === 'a compaction is forgotten' ? firstRevision : compacted)
    for (const kv of current.values()) state.load(kv)
    const newest = (): number =>
      Math.max(from, ...[...current.values()].map(({ modRevision }) => modRevision))
    for (const entry of entries) {
      if (entry.revision <= from || entry.events.length === 0) continue
      const events = entry.events.map(play)
      state.publish(
        events,
        bug === 'the revision is that of the newest key' ? newest() : entry.revision,
      )
    }
    return state
  }

  #again(entries: Entry[]): void {
    const last = entries.at(-1)
    if (last === undefined || last.events.length === 0) return
    const revision = last.revision + 1
    const events = last.events.map((event) => ({
      ...event,
      revision,
      value: event.value && { ...event.value, modRevision: revision },
    }))
    entries.push({ ...last, revision, events })
  }
}
