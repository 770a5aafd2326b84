/** Pressures of the node over time; upstream: pkg/kubelet/eviction/eviction_manager.go (synchronize). */
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
  /** Thresholds that are crossed now, and since when. */
  #crossedAt = new Map<Threshold, number>()
  /** Thresholds that have caused an eviction, until their minimum reclaim is reached. */
  #acting: readonly Threshold[] = []
  readonly #seenAt = new Map<Pressure, number>()
  #pressures: readonly Pressure[] = []

  constructor(thresholds: readonly Threshold[], transitionMs: number) {
    this.#thresholds = thresholds
    this.#transitionMs = transitionMs
  }

  /** Pressures for the Node's conditions, including those that have ended only lately. */
  get pressures(): readonly Pressure[] {
    return this.#pressures
  }

  /** Takes a measurement; yields the thresholds for which a Pod has to be evicted now, memory first. */
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

  /** Whether no threshold is crossed, minimum reclaims included. */
  isRelieved(observations: Observations): boolean {
    return !this.#thresholds.some((one) => isCrossed(one, observations, true))
  }
}
