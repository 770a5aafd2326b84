/** A rate of events per second, with a burst after a pause (golang.org/x/time/rate). */
export interface Rate {
  readonly qps: number
  readonly burst: number
}

export class TokenBucket {
  readonly #rate: Rate
  #tokens: number
  #at: number

  /** Starts full. Times are milliseconds of a clock that never goes back. */
  constructor(rate: Rate, now: number) {
    this.#rate = rate
    this.#tokens = rate.burst
    this.#at = now
  }

  /** Takes its turn; yields how many milliseconds it is away. */
  take(now: number): number {
    this.#fill(now)
    this.#tokens--
    return this.#tokens >= 0 ? 0 : (-this.#tokens / this.#rate.qps) * 1000
  }

  /** Takes its turn if it is now. */
  tryTake(now: number): boolean {
    this.#fill(now)
    if (this.#tokens < 1) return false
    this.#tokens--
    return true
  }

  #fill(now: number): void {
    const { qps, burst } = this.#rate
    this.#tokens = Math.min(burst, this.#tokens + ((now - this.#at) / 1000) * qps)
    this.#at = now
  }
}
