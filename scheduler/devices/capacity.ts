/** What a share of a device takes of its capacities (KEP-5075; structured/internal, consumable_capacity). */
import { makeQuantity, parseQuantity, type Quantity, quantityValue } from '#api/quantity.js'
import type { DeviceCapacity } from '#client/resource-slice.js'
import { addToList } from '#collections/add-to-list.js'
import { getOwn } from '#json/object.js'
import type { PooledDevice } from './pools.js'

/** By the name of the capacity. */
export type Taken = ReadonlyMap<string, Quantity>
/** In billionths, by the name of the capacity. */
type Amounts = ReadonlyMap<string, bigint>
type Policy = NonNullable<DeviceCapacity['requestPolicy']>
type Range = NonNullable<Policy['validRange']>

/** Steps are counted in whole units. */
const roundedToStep = (asked: Quantity, { min, step }: Range): Quantity => {
  const least = parseQuantity(min)
  if (asked.nano < least.nano) return least
  if (step === undefined) return asked
  const [from, by] = [quantityValue(least), quantityValue(parseQuantity(step))]
  const steps = (quantityValue(asked) - from + by - 1n) / by
  return makeQuantity((from + by * steps) * 1_000_000_000n, 'BinarySI')
}

/** The least valid amount that is enough; what was asked for where none is. */
const roundedUp = (asked: Quantity, { validRange, validValues = [] }: Policy): Quantity => {
  if (validRange !== undefined) return roundedToStep(asked, validRange)
  return validValues.map(parseQuantity).find(({ nano }) => asked.nano <= nano) ?? asked
}

/** Without a request a share takes the default, or all there is. */
const takenOf = (asked: string | undefined, { value, requestPolicy }: DeviceCapacity): Quantity => {
  if (asked === undefined) return parseQuantity(requestPolicy?.default ?? value)
  const quantity = parseQuantity(asked)
  return requestPolicy === undefined ? quantity : roundedUp(quantity, requestPolicy)
}

const isValid = (taken: Quantity, policy: Policy | undefined): boolean => {
  if (policy === undefined || policy.default === taken.text) return true
  const { validRange, validValues = [] } = policy
  if (validRange !== undefined)
    return validRange.max === undefined || taken.nano <= parseQuantity(validRange.max).nano
  return validValues.length === 0 || validValues.some((v) => parseQuantity(v).nano === taken.nano)
}

/** Undefined if the device has not all capacities that are asked for, or gives no such amount of one. */
export const takenBy = (
  requests: Readonly<Record<string, string>>,
  capacity: Readonly<Record<string, DeviceCapacity>>,
): Taken | undefined => {
  if (!Object.keys(requests).every((name) => Object.hasOwn(capacity, name))) return undefined
  const taken = new Map<string, Quantity>()
  for (const [name, offered] of Object.entries(capacity)) {
    const asked = getOwn(requests, name)
    const amount = takenOf(asked, offered)
    if (!isValid(amount, offered.requestPolicy)) return undefined
    taken.set(name, amount)
  }
  return taken
}

const none: Amounts = new Map()

/** What is left of the capacities of devices while devices are chosen. */
export class CapacityUse {
  readonly #inUse: ReadonlyMap<string, Amounts>
  /** By the id of the device. */
  readonly #chosen = new Map<string, Taken[]>()

  /** `inUse`: what shares of other claims take, by the id of the device. */
  constructor(inUse: ReadonlyMap<string, Amounts>) {
    this.#inUse = inUse
  }

  /** A share of the device has been taken, by others or in this choice. */
  isShared({ id }: PooledDevice): boolean {
    return (this.#inUse.get(id)?.size ?? 0) > 0 || (this.#chosen.get(id)?.length ?? 0) > 0
  }

  hasRoom({ id, device }: PooledDevice, taken: Taken): boolean {
    const inUse = this.#inUse.get(id) ?? none
    const chosen = this.#chosen.get(id) ?? []
    return [...taken].every(([name, { nano }]) => {
      const others = chosen.reduce((sum, share) => sum + (share.get(name)?.nano ?? 0n), 0n)
      const all = parseQuantity(device.capacity![name]!.value).nano
      return (inUse.get(name) ?? 0n) + others + nano <= all
    })
  }

  take({ id }: PooledDevice, taken: Taken): void {
    addToList(this.#chosen, id, taken)
  }

  /** Takes back the share that was taken last. */
  giveBack({ id }: PooledDevice): void {
    this.#chosen.get(id)?.pop()
  }
}
