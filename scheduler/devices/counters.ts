import { countersOf, type Pool, type PooledDevice } from './pools.js'

/** What the partitions of devices take of the counters that they share (KEP-4815). */
export class CounterUse {
  readonly #inUse: ReadonlySet<string>
  readonly #left = new Map<Pool, Map<string, bigint>>()

  /** `inUse`: ids of devices that have taken their counters already. */
  constructor(inUse: ReadonlySet<string>) {
    this.#inUse = inUse
  }

  #leftIn(pool: Pool): Map<string, bigint> {
    const known = this.#left.get(pool)
    if (known !== undefined) return known
    const left = new Map(pool.counters)
    for (const { id, device } of pool.all)
      if (this.#inUse.has(id))
        for (const [key, amount] of countersOf(device))
          left.set(key, (left.get(key) ?? 0n) - amount)
    this.#left.set(pool, left)
    return left
  }

  /** False, and nothing is taken, if that is more than is left. */
  take({ device, pool }: PooledDevice): boolean {
    const taken = countersOf(device)
    if (taken.length === 0) return true
    const left = this.#leftIn(pool)
    for (const [key, amount] of taken) left.set(key, (left.get(key) ?? 0n) - amount)
    if ([...left.values()].every((amount) => amount >= 0n)) return true
    this.giveBack({ device, pool })
    return false
  }

  giveBack({ device, pool }: Pick<PooledDevice, 'device' | 'pool'>): void {
    const left = this.#leftIn(pool)
    for (const [key, amount] of countersOf(device)) left.set(key, (left.get(key) ?? 0n) + amount)
  }
}
