/** How many seats a level could use: followed over time, and summed up each time that limits are adjusted. */

/** Upstream's seatDemandSmoothingCoefficient: half of what was is forgotten in five minutes. */
const smoothing = 0.977

export class SeatDemand {
  /** Of the period that was summed up last. */
  highWatermark = 0
  average = 0
  deviation = 0
  /** Rises at once and falls slowly. */
  smoothed = 0
  #value = 0
  #max = 0
  #elapsed = 0
  #integral = 0
  #integralOfSquares = 0
  #since: number

  /** Milliseconds, here and below. */
  constructor(now: number) {
    this.#since = now
  }

  set(value: number, now: number): void {
    if (value === this.#value) return
    this.#account(now)
    this.#value = value
    if (value > this.#max) this.#max = value
  }

  /** Ends a period, and begins the next. */
  sumUp(now: number): void {
    this.#account(now)
    this.highWatermark = this.#max
    if (this.#elapsed > 0) {
      this.average = this.#integral / this.#elapsed
      const variance = this.#integralOfSquares / this.#elapsed - this.average ** 2
      // Below zero by rounding.
      this.deviation = variance > 0 ? Math.sqrt(variance) : 0
      const envelope = this.average + this.deviation
      this.smoothed = Math.max(envelope, smoothing * this.smoothed + (1 - smoothing) * envelope)
    }
    this.#elapsed = 0
    this.#integral = 0
    this.#integralOfSquares = 0
    this.#max = this.#value
  }

  #account(now: number): void {
    const elapsed = now - this.#since
    this.#since = now
    this.#elapsed += elapsed
    this.#integral += this.#value * elapsed
    this.#integralOfSquares += this.#value * this.#value * elapsed
  }
}
