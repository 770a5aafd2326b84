/**
 * Batches the charges of many writers to one quota: those that come while it is written share the next write. Alone, all
 * but one of them would meet a conflict and count again (apiserver, resourcequota/controller.go).
 */
import type { KubeObject } from '#api/object.js'
import { nextTurn } from '#async/turns.js'

/** Counts in the status of a private copy of the quota. Throws if it does not fit. */
type Count = (quota: KubeObject) => void
type WriteQuota = (change: (stored: KubeObject) => KubeObject) => Promise<unknown>

interface Charge {
  readonly count: Count
  readonly write: WriteQuota
  resolve(): void
  reject(why: unknown): void
}

export class QuotaCharges {
  /** By quota, while it is written. */
  readonly #waiting = new Map<string, Charge[]>()

  /** Rejects with what `count` throws. Charges that wait together are written by one `write`. */
  add(key: string, count: Count, write: WriteQuota): Promise<void> {
    return new Promise((resolve, reject) => {
      const charge = { count, write, resolve, reject }
      const waiting = this.#waiting.get(key)
      if (waiting !== undefined) waiting.push(charge)
      else void this.#writeAll(key, [charge])
    })
  }

  async #writeAll(key: string, waiting: Charge[]): Promise<void> {
    this.#waiting.set(key, waiting)
    while (waiting.length > 0) {
      // Several writes come in one turn: wait for the others.
      await nextTurn()
      await writeOnce(waiting.splice(0))
    }
    this.#waiting.delete(key)
  }
}

const writeOnce = async (charges: readonly Charge[]): Promise<void> => {
  const refused = new Map<Charge, unknown>()
  const countAll = (stored: KubeObject): KubeObject => {
    refused.clear()
    const quota = structuredClone(stored)
    for (const charge of charges) {
      try {
        charge.count(quota)
      } catch (why) {
        refused.set(charge, why)
      }
    }
    return quota
  }
  try {
    await charges[0]!.write(countAll)
  } catch (why) {
    for (const charge of charges) if (!refused.has(charge)) refused.set(charge, why)
  }
  for (const charge of charges) {
    if (refused.has(charge)) charge.reject(refused.get(charge))
    else charge.resolve()
  }
}
