/** Asks selectors about devices (kubernetes, dynamic-resource-allocation/cel/compile.go DeviceMatches). */
import type { JsonValue } from '#json/value.js'
import { limits } from '#limits'
import { compileDeviceText } from './device-environment.js'
import { quantityFunctions } from './functions/quantities.js'
import { semverFunctions } from './functions/versions.js'
import { fromJson } from './json-values.js'
import { CelError, type CelValue, EntryMap, MapValue, typeNameOf } from './values.js'
import { CostExceeded } from './work.js'

/** What is published of a device, and by which driver. */
interface DeviceFacts {
  driver: string
  allowMultipleAllocations?: boolean
  /** By a name that may begin with a domain; each has one value, under the name of its type. */
  attributes?: Readonly<Record<string, { version?: string }>>
  capacity?: Readonly<Record<string, { value: string }>>
}

/** Whether the device is one; throws what went wrong, in upstream's words. `device` makes its value, or has it. */
export type DeviceSelectorProgram = (device: () => MapValue) => boolean

/** Maps of values by domain. A domain that the device does not have is not in it, but yields an empty map. */
class Domains extends MapValue {
  readonly #domains = new Map<string, EntryMap>()

  /** A name without a domain is in that of the driver. */
  add(name: string, value: CelValue, driver: string): void {
    const slash = name.indexOf('/')
    const domain = slash < 0 ? driver : name.slice(0, slash)
    const map = this.#domains.get(domain) ?? new EntryMap()
    this.#domains.set(domain, map)
    map.add(name.slice(slash + 1), value)
  }
  get(key: CelValue): CelValue | undefined {
    return typeof key === 'string' ? (this.#domains.get(key) ?? new EntryMap()) : undefined
  }
  override has(key: CelValue): boolean {
    return typeof key === 'string' && this.#domains.has(key)
  }
  keys(): CelValue[] {
    return [...this.#domains.keys()]
  }
  get size(): number {
    return this.#domains.size
  }
}

const attributeValue = ({ version, ...others }: { version?: string }): CelValue =>
  version === undefined
    ? fromJson(Object.values(others as Record<string, JsonValue>)[0])
    : semverFunctions.string_to_semver!(version)

/** What selectors see of a device. Throws CelError for a version that is none. */
export const deviceValue = (facts: DeviceFacts): MapValue => {
  const { driver, allowMultipleAllocations = false, attributes = {}, capacity = {} } = facts
  const attributeMaps = new Domains()
  for (const [name, attribute] of Object.entries(attributes))
    attributeMaps.add(name, attributeValue(attribute), driver)
  const capacityMaps = new Domains()
  for (const [name, { value }] of Object.entries(capacity))
    capacityMaps.add(name, quantityFunctions.string_to_quantity!(value), driver)
  const device = new EntryMap()
  device.add('driver', driver)
  device.add('allowMultipleAllocations', allowMultipleAllocations)
  device.add('attributes', attributeMaps)
  device.add('capacity', capacityMaps)
  return device
}

/** Throws if the expression is wrong, in upstream's words. */
export const compileDeviceSelector = (text: string): DeviceSelectorProgram => {
  const compiled = compileDeviceText(text)
  if ('error' in compiled) throw new Error(`compile error: ${compiled.error}`)
  return (device) => {
    let value: CelValue
    try {
      const made = device()
      const variables = (name: string) => (name === 'device' ? made : undefined)
      value = compiled.program(variables, Number(limits.celDeviceCostMax)).value
    } catch (error) {
      if (!(error instanceof CelError || error instanceof CostExceeded)) throw error
      throw new Error(`runtime error: ${error.message}`)
    }
    if (typeof value === 'boolean') return value
    throw new Error(
      `runtime error: CEL result of type ${typeNameOf(value)} could not be converted to bool`,
    )
  }
}
