/**
 * What a store that lives in one process does for itself once a second: removes values whose time is over, and
 * compacts history that is older than the window or larger than its bound.
 */
import type { Clock } from '#api/clock.js'
import { addToList } from '#collections/add-to-list.js'
import { limits } from '#limits'
import type { StorageDriver } from './driver.js'
import type { Mvcc, PlannedEvent } from './mvcc.js'

const tickMs = 1_000
/** How often the head revision is noted, so that the age of history is known to this. */
const markMs = 10_000
/** A compaction by size makes room for this part of the bound, so that it does not run on every write. */
const keptPart = 0.75

export class Upkeep {
  readonly #state: Mvcc
  readonly #clock: Clock
  readonly #driver: Pick<StorageDriver, 'txn' | 'compact'>
  readonly #expiries = new Map<string, number>()
  /** Keys by the second in which they end; a key whose expiry moved is found in its old second and passed over. */
  readonly #seconds = new Map<number, string[]>()
  readonly #marks: { at: number; revision: number }[] = []
  readonly #timer: NodeJS.Timeout
  readonly #ignoreMoves: (() => void) | undefined
  #running: Promise<void> | undefined

  constructor(state: Mvcc, clock: Clock, driver: Pick<StorageDriver, 'txn' | 'compact'>) {
    this.#state = state
    this.#clock = clock
    this.#driver = driver
    this.#timer = setInterval(() => {
      this.#running ??= this.run().finally(() => {
        this.#running = undefined
      })
    }, tickMs)
    this.#timer.unref()
    // What was written up to a move is older by it.
    this.#ignoreMoves = clock.onMove?.((byMs) => this.#mark(clock.now() - byMs))
  }

  /** When a value written now ends, in ms since the epoch; 0: never. */
  expiryOf({ ttlSeconds = 0 }: PlannedEvent): number {
    return ttlSeconds > 0 ? this.#clock.now() + ttlSeconds * 1000 : 0
  }

  /** Notes when the value of a key ends; 0 forgets it. */
  note(key: string, expiry: number): void {
    if (expiry === 0) {
      if (this.#expiries.size > 0) this.#expiries.delete(key)
      return
    }
    this.#expiries.set(key, expiry)
    const second = Math.ceil(expiry / 1000)
    addToList(this.#seconds, second, key)
  }

  /** One round. Failures are the driver's: its health tells, and the next round tries again. */
  async run(): Promise<void> {
    try {
      await this.#expire()
      const revision = this.#windowStart()
      if (revision !== undefined) await this.#driver.compact(revision)
    } catch {
      // A closed or failed store has nothing to keep up.
    }
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer)
    this.#ignoreMoves?.()
    await this.#running
  }

  async #expire(): Promise<void> {
    const now = this.#clock.now()
    for (const [second, keys] of this.#seconds) {
      if (second * 1000 > now) continue
      this.#seconds.delete(second)
      const due = keys.filter((key) => (this.#expiries.get(key) ?? Number.POSITIVE_INFINITY) <= now)
      await Promise.all(
        due.map(async (key) => {
          const modRevision = this.#state.get(key)?.modRevision
          if (modRevision === undefined) return
          // Written again in between: that write has noted its own expiry.
          await this.#driver.txn([{ key, modRevision }], [{ type: 'delete', key }])
        }),
      )
    }
  }

  #mark(at: number): void {
    this.#marks.push({ at, revision: this.#state.head })
  }

  #windowStart(): number | undefined {
    const now = this.#clock.now()
    const last = this.#marks[this.#marks.length - 1]
    if (last === undefined || now - last.at >= markMs) this.#mark(now)
    let byAge = 0
    while (this.#marks.length > 0 && this.#marks[0]!.at < now - limits.watchHistoryMs) {
      byAge = this.#marks.shift()!.revision
    }
    const full = this.#state.historyBytes > limits.watchHistoryBytesMax
    const bySize = full ? this.#state.revisionToHold(limits.watchHistoryBytesMax * keptPart) : 0
    const revision = Math.max(byAge, bySize)
    return revision > this.#state.compacted ? revision : undefined
  }
}
