/** Constraints between the devices of one claim (structured/internal, constraint.go). */
import type { DeviceConstraint } from '#client/resource-claim.js'
import type { DeviceAttribute } from '#client/resource-slice.js'
import { getOwn } from '#json/object.js'
import type { PooledDevice } from './pools.js'

/** A search stops where a constraint breaks. */
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

/** All devices of some requests have the attribute. */
abstract class AttributeConstraint implements Constraint {
  readonly #requests: readonly string[]
  readonly #attribute: string

  constructor(requests: readonly string[], attribute: string) {
    this.#requests = requests
    this.#attribute = attribute
  }

  #concerns(names: readonly string[]): boolean {
    return this.#requests.length === 0 || names.some((name) => this.#requests.includes(name))
  }

  add(names: readonly string[], device: PooledDevice): boolean {
    if (!this.#concerns(names)) return true
    const value = textOf(attributeOf(device, this.#attribute))
    return value !== undefined && this.addValue(names[0]!, value)
  }

  remove(names: readonly string[]): void {
    if (this.#concerns(names)) this.removeValue(names[0]!)
  }

  protected abstract addValue(request: string, value: string): boolean
  protected abstract removeValue(request: string): void
}

class OneValue extends AttributeConstraint {
  readonly #values: string[] = []

  protected addValue(_: string, value: string): boolean {
    const holds = this.#values.every((other) => other === value)
    if (holds) this.#values.push(value)
    return holds
  }

  protected removeValue(): void {
    this.#values.pop()
  }
}

/** Upstream keeps the last value of each request only: devices of one request differ from the one before them. */
class OtherValues extends AttributeConstraint {
  readonly #lastOf = new Map<string, string>()

  protected addValue(request: string, value: string): boolean {
    if ([...this.#lastOf.values()].includes(value)) return false
    this.#lastOf.set(request, value)
    return true
  }

  protected removeValue(request: string): void {
    this.#lastOf.delete(request)
  }
}

/** Throws for a kind of constraint that nobody knows. */
export const makeConstraint = (asked: DeviceConstraint): Constraint => {
  const { requests = [], matchAttribute, distinctAttribute } = asked
  if (matchAttribute !== undefined) return new OneValue(requests, matchAttribute)
  if (distinctAttribute !== undefined) return new OtherValues(requests, distinctAttribute)
  throw new Error('empty constraint (unsupported constraint type?)')
}
