/**
 * Retry-After of refused requests, from the refusals of the last seconds, for each level by itself (apiserver,
 * util/flowcontrol/dropped_requests_tracker.go).
 */
import { limits } from '#limits'

interface Second {
  readonly at: number
  dropped: number
}

/** The refusals of one level. Times are seconds since the epoch. */
class Drops {
  retryAfter = 1
  #history: Second[] = []
  #current: Second = { at: 0, dropped: 0 }
  #raisedAt = 0

  record(now: number): void {
    if (now === this.#current.at) {
      this.#current.dropped++
      return
    }
    const { at } = this.#current
    const kept = Math.min(2 * this.retryAfter, limits.retryAfterSecondsMax)
    this.#history.push(this.#current)
    this.#history = this.#history.filter((second) => at - second.at <= kept)
    this.#current = { at: now, dropped: 1 }
    this.#adjust(now)
  }

  /** Doubles the time when many were refused, not only just now; else takes it back in steps of one. */
  #adjust(now: number): void {
    const { retryAfter } = this
    const dropped = this.#history
      .filter(({ at }) => now - at <= retryAfter && at < now)
      .reduce((sum, second) => sum + second.dropped, 0)
    if (now - this.#raisedAt >= retryAfter && dropped >= 3 * retryAfter) {
      this.retryAfter = Math.min(2 * retryAfter, limits.retryAfterSecondsMax)
      this.#raisedAt = now
    } else if (dropped < retryAfter && retryAfter > 1) this.retryAfter--
  }
}

export class DroppedRequests {
  readonly #levels = new Map<string, Drops>()

  /** Yields the Retry-After, in seconds, of a request that is refused now. `now` in ms since the epoch. */
  record(level: string, now: number): number {
    let drops = this.#levels.get(level)
    if (drops === undefined) {
      drops = new Drops()
      this.#levels.set(level, drops)
    }
    drops.record(Math.floor(now / 1000))
    return drops.retryAfter
  }
}
