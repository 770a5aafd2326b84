import type { DevicesInUse } from './in-use.js'
import type { Pool, PooledDevice } from './pools.js'

/** What the partitions of devices take of the counters that they share (KEP-4815). */
export class CounterUse {
  readonly #inUse: DevicesInUse
  readonly #left = new Map<Pool, Map<string, bigint>>()

  /** `inUse`: devices that have taken their counters already. */
  constructor(inUse: DevicesInUse) {
    this.#inUse = inUse
  }

  #leftIn(pool: Pool): Map<string, bigint> {
    const known = this.#left.get(pool)
    if (known !== undefined) return known
    const left = new Map(pool.counters)
    this.#left.set(pool, left)
    for (const device of pool.slices.flatMap(({ devices }) => devices))
      if (this.#inUse.whole.has(device.id) || this.#inUse.shared.has(device.id))
        this.#change(device, -1n)
    return left
  }

  #change({ pool, takes }: PooledDevice, by: 1n | -1n): void {
    const left = this.#leftIn(pool)
    for (const [key, amount] of takes) left.set(key, (left.get(key) ?? 0n) + by * amount)
  }

  /** False, and nothing is taken, if that is more than is left. */
  take(device: PooledDevice): boolean {
    if (device.takes.length === 0) return true
    this.#change(device, -1n)
    const isEnough = [...this.#leftIn(device.pool).values()].every((amount) => amount >= 0n)
    if (!isEnough) this.giveBack(device)
    return isEnough
  }

  giveBack(device: PooledDevice): void {
    this.#change(device, 1n)
  }
}
