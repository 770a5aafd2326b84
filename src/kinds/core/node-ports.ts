/**
 * Which node ports are taken. Stored Services are the truth, and ports of writes in progress are held beside them. Servers
 * that share a store also share one RangeAllocation, kube-apiserver's own, which each changes by compare-and-swap before it
 * hands out a port (kubernetes, pkg/registry/core/service/allocator/storage and portallocator/controller).
 */
import { internalError } from '#api/errors.js'
import type { KubeObject } from '#api/object.js'
import { type ObjectStorage, WriteConflict } from '#cacher/object-storage.js'
import { changeObject } from '#registry/change-object.js'

/** Includes both ends. */
export interface PortRange {
  readonly first: number
  readonly last: number
}

export const rangesPrefix = '/registry/ranges/'
const allocationKey = `${rangesPrefix}servicenodeports`

/** For how many repairs a port without a Service stays taken: its Service may not be written yet. */
const leakLooks = 2

/** The bytes of Go's big.Int, highest first: bit n is the nth port of the range. */
const bitsOf = (data: string | null | undefined): bigint =>
  BigInt(`0x0${Buffer.from(data ?? '', 'base64').toString('hex')}`)

const dataOf = (bits: bigint): string => {
  const hex = bits === 0n ? '' : bits.toString(16)
  return Buffer.from(hex.length % 2 === 0 ? hex : `0${hex}`, 'hex').toString('base64')
}

export class NodePorts {
  readonly range: PortRange
  /** Ports of this server's writes in progress. */
  readonly held = new Set<number>()
  /** Undefined where nobody shares the store. */
  #storage: ObjectStorage | undefined
  #changing: Promise<unknown> = Promise.resolve()
  /** For how many more repairs a port without a Service stays taken. */
  #leaks: ReadonlyMap<number, number> = new Map()

  constructor(range: PortRange) {
    this.range = range
  }

  /** From now on ports are shared with other servers. `storage` holds the keys under the prefix. */
  share(storage: ObjectStorage): void {
    this.#storage = storage
  }

  /** False if another server has it. */
  async take(port: number): Promise<boolean> {
    const bit = this.#bitOf(port)
    return this.#change((bits) => ((bits & bit) === 0n ? bits | bit : undefined))
  }

  async release(ports: readonly number[]): Promise<void> {
    if (ports.length === 0) return
    const gone = ports.reduce((bits, port) => bits | this.#bitOf(port), 0n)
    await this.#change((bits) => ((bits & gone) === 0n ? undefined : bits & ~gone))
  }

  /** `readUsed` yields the ports of all Services; it is called after the allocation was read. */
  async repair(readUsed: () => Promise<readonly number[]>): Promise<void> {
    const storage = this.#storage
    if (storage === undefined) return
    const stored = await storage.get(allocationKey, { kind: 'consistent' })
    const used = (await readUsed()).reduce((bits, port) => bits | this.#bitOf(port), 0n)
    const isOurs = stored !== undefined && this.#isOurRange(stored.object)
    const before = isOurs ? bitsOf(stored.object.data) : 0n
    const leaks = this.#leaksOf(before & ~used)
    const next = [...leaks.keys()].reduce((bits, port) => bits | this.#bitOf(port), used)
    try {
      if (stored === undefined) await storage.create(allocationKey, this.#allocation(next))
      else if (!isOurs || next !== before) await storage.update(stored, this.#allocation(next))
    } catch (error) {
      if (!(error instanceof WriteConflict)) throw error
      return this.repair(readUsed)
    }
    // Not before: what is tried again is still the same repair.
    this.#leaks = leaks
  }

  /** Those of the unused ports that stay taken for now. */
  #leaksOf(unused: bigint): ReadonlyMap<number, number> {
    const leaks = new Map<number, number>()
    const { first, last } = this.range
    for (let port = first; unused !== 0n && port <= last; port++) {
      const looks = this.#leaks.get(port) ?? leakLooks
      if ((unused & this.#bitOf(port)) !== 0n && looks > 0) leaks.set(port, looks - 1)
    }
    return leaks
  }

  /** False if `change` yields nothing. Changes run one after the other: at once they would only conflict with each other. */
  #change(change: (bits: bigint) => bigint | undefined): Promise<boolean> {
    const storage = this.#storage
    if (storage === undefined) return Promise.resolve(true)
    const changed = this.#changing.then(async () => {
      const stored = await changeObject(storage, allocationKey, (current) => {
        if (current !== undefined && !this.#isOurRange(current))
          throw internalError('the provided port range does not match the current port range')
        const bits = change(bitsOf(current?.data))
        return bits === undefined ? undefined : this.#allocation(bits)
      })
      return stored !== undefined
    })
    this.#changing = changed.catch(() => {})
    return changed
  }

  /** 0 for ports outside the range; Services may have them from an earlier range. */
  #bitOf(port: number): bigint {
    const { first, last } = this.range
    return port < first || port > last ? 0n : 1n << BigInt(port - first)
  }

  get #rangeText(): string {
    return `${this.range.first}-${this.range.last}`
  }

  /** A new cluster's allocation may have no range yet. */
  #isOurRange(allocation: KubeObject | undefined): boolean {
    return (allocation?.range || this.#rangeText) === this.#rangeText
  }

  #allocation(bits: bigint): KubeObject {
    return {
      kind: 'RangeAllocation',
      apiVersion: 'v1',
      metadata: {},
      range: this.#rangeText,
      data: dataOf(bits),
    }
  }
}
