import { type FieldReader, ObjectMap } from '#cel/json-values.js'
import { celName, propertyName } from '#cel/schema-types.js'
import { type CelValue, equal, MapValue } from '#cel/values.js'
import { work } from '#cel/work.js'
import { stringify } from '#json/json.js'
import { getOwn, semanticEqual } from '#json/object.js'
import type { JsonObject } from '#json/value.js'

/**
 * An object with declared fields (apiserver, unstructuredMap). Rules see nothing else of it, but it is as large as it is, and
 * equal are those that are so in all of it.
 */
export class DeclaredObject extends MapValue {
  readonly whole: JsonObject
  readonly #properties: Readonly<Record<string, unknown>>
  readonly #fields: ObjectMap
  constructor(whole: JsonObject, properties: Readonly<Record<string, unknown>>, read: FieldReader) {
    super()
    this.whole = whole
    this.#properties = properties
    this.#fields = new ObjectMap(whole, read)
  }
  /** By its name in CEL, or as it is written. No rule finds a field that is null, nullable as it may be. */
  get(key: CelValue): CelValue | undefined {
    const name = typeof key === 'string' ? propertyName(key) : undefined
    return name === undefined || getOwn(this.whole, name) === null
      ? undefined
      : this.#fields.get(name)
  }
  /** Those of unknown fields are no names. */
  keys(): CelValue[] {
    const all = Object.keys(this.whole)
    const known = all.filter((key) => getOwn(this.#properties, key) !== undefined)
    return [
      ...known.map((key) => celName(key) ?? key),
      ...Array.from({ length: all.length - known.length }, () => null),
    ]
  }
  get size(): number {
    return Object.keys(this.whole).length
  }
  override equals(other: MapValue): boolean {
    if (!(other instanceof DeclaredObject)) return super.equals(other)
    const entries = Object.entries(this.whole)
    if (entries.length !== Object.keys(other.whole).length) return false
    return entries.every(([key, value]) => {
      const name = celName(key) ?? key
      const [one, two] = [this.get(name), other.get(name)]
      if (one !== undefined || two !== undefined)
        return one !== undefined && two !== undefined && equal(one, two)
      const second = getOwn(other.whole, key)
      if (second === undefined) return true
      work(stringify(value).length / 10)
      return semanticEqual(value, second)
    })
  }
}
