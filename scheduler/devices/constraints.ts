/** Constraints between the devices of one claim (structured/internal, constraint.go). */
import type { DeviceConstraint } from '#client/resource-claim.js'
import type { DeviceAttribute } from '#client/resource-slice.js'
import { getOwn } from '#json/object.js'
import type { PooledDevice } from './pools.js'

/** Adding devices never makes a broken constraint hold again, so that a search may stop where it breaks. */
export interface Constraint {
  /** False, and nothing is added, if it would break. `names`: of the request, and of its alternative. */
  add(names: readonly string[], device: PooledDevice): boolean
  /** Takes back the device that was added last. */
  remove(names: readonly string[]): void
}

/** A name without a domain is in that of the driver. */
const attributeOf = ({ device, pool }: PooledDevice, name: string): DeviceAttribute | undefined => {
  const attributes = device.attributes ?? {}
  if (Object.hasOwn(attributes, name)) return attributes[name]
  const slash = name.indexOf('/')
  const id = name.slice(slash + 1)
  return name.slice(0, slash) === pool.driver ? getOwn(attributes, id) : undefined
}

const textOf = (attribute: DeviceAttribute | undefined): string | undefined =>
  attribute === undefined ? undefined : JSON.stringify(attribute)

/** All devices have the attribute, with one value or each with its own. */
class AttributeConstraint implements Constraint {
  readonly #requests: readonly string[]
  readonly #attribute: string
  readonly #isDistinct: boolean
  readonly #values: string[] = []

  constructor(requests: readonly string[], attribute: string, isDistinct: boolean) {
    this.#requests = requests
    this.#attribute = attribute
    this.#isDistinct = isDistinct
  }

  #concerns(names: readonly string[]): boolean {
    return this.#requests.length === 0 || names.some((name) => this.#requests.includes(name))
  }

  add(names: readonly string[], device: PooledDevice): boolean {
    if (!this.#concerns(names)) return true
    const value = textOf(attributeOf(device, this.#attribute))
    if (value === undefined) return false
    const holds = this.#isDistinct
      ? !this.#values.includes(value)
      : this.#values.every((other) => other === value)
    if (holds) this.#values.push(value)
    return holds
  }

  remove(names: readonly string[]): void {
    if (this.#concerns(names)) this.#values.pop()
  }
}

/** Throws for a kind of constraint that nobody knows. */
export const makeConstraint = (asked: DeviceConstraint): Constraint => {
  const { requests = [], matchAttribute, distinctAttribute } = asked
  const attribute = matchAttribute ?? distinctAttribute
  if (attribute === undefined) throw new Error('empty constraint (unsupported constraint type?)')
  return new AttributeConstraint(requests, attribute, matchAttribute === undefined)
}
