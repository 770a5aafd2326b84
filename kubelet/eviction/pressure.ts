/** What the node is short of, from one look at it to the next; upstream: pkg/kubelet/eviction/eviction_manager.go (synchronize). */
import type { Observations, Pressure, Signal } from './signals.js'
import { signals } from './signals.js'
import { amountIn, type Threshold } from './thresholds.js'

const isCrossed = (
  { signal, value, minimumReclaim }: Threshold,
  observations: Observations,
  afterReclaim: boolean,
): boolean => {
  const observed = observations.get(signal)
  if (!observed) return false
  const extra = afterReclaim && minimumReclaim ? amountIn(minimumReclaim, observed) : 0n
  return observed.available < amountIn(value, observed) + extra
}

const isAboutMemory = (signal: Signal): boolean => signals[signal].resource === 'memory'

export class NodePressure {
  readonly #thresholds: readonly Threshold[]
  readonly #transitionMs: number
  /** Since when each that is crossed now has been. */
  #crossedAt = new Map<Threshold, number>()
  /** Those that somebody had to go for, until there is as much as was asked to be reclaimed. */
  #acting: readonly Threshold[] = []
  readonly #seenAt = new Map<Pressure, number>()
  #pressures: readonly Pressure[] = []

  constructor(thresholds: readonly Threshold[], transitionMs: number) {
    this.#thresholds = thresholds
    this.#transitionMs = transitionMs
  }

  /** What the Node says of itself: also what has lasted until lately. */
  get pressures(): readonly Pressure[] {
    return this.#pressures
  }

  /** Takes what was measured; yields the thresholds for which a Pod has to go now, memory first. */
  observe(observations: Observations, nowMs: number): Threshold[] {
    const acting = new Set(this.#acting)
    const crossed = this.#thresholds.filter((one) => isCrossed(one, observations, acting.has(one)))
    this.#crossedAt = new Map(crossed.map((one) => [one, this.#crossedAt.get(one) ?? nowMs]))
    for (const { signal } of crossed) this.#seenAt.set(signals[signal].pressure, nowMs)
    this.#pressures = [...this.#seenAt]
      .filter(([, at]) => at === nowMs || nowMs - at < this.#transitionMs)
      .map(([pressure]) => pressure)
    this.#acting = crossed.filter((one) => nowMs - this.#crossedAt.get(one)! >= one.graceMs)
    return [...this.#acting].sort(
      (a, b) => Number(isAboutMemory(b.signal)) - Number(isAboutMemory(a.signal)),
    )
  }

  /** Whether there is enough of everything, with what was asked to be reclaimed. */
  isRelieved(observations: Observations): boolean {
    return !this.#thresholds.some((one) => isCrossed(one, observations, true))
  }
}
