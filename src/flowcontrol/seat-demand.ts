/** The seats that a level could use, over time; summed up each time that limits are adjusted. */

/** Upstream's seatDemandSmoothingCoefficient: a half-life of five minutes. */
const smoothing = 0.977

export class SeatDemand {
  /** The maximum of the last period. */
  highWatermark = 0
  average = 0
  deviation = 0
  /** Rises at once and falls slowly. */
  smoothed = 0
  #elapsed = 0
  #integral = 0
  #integralOfSquares = 0

  add(seats: number, ms: number): void {
    this.#elapsed += ms
    this.#integral += seats * ms
    this.#integralOfSquares += seats * seats * ms
  }

  /** Ends a period, in which the most was `highest`, and begins the next. */
  sumUp(highest: number): void {
    this.highWatermark = highest
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
  }
}
