import { type FieldReader, ObjectMap } from '#cel/json-values.js'
import { celName } from '#cel/schema-types.js'
import { equal, type MapValue } from '#cel/values.js'
import { work } from '#cel/work.js'
import { stringify } from '#json/json.js'
import { getOwn, semanticEqual } from '#json/object.js'
import type { JsonObject } from '#json/value.js'

/** An object with declared fields. Rules see nothing else of it, but equal are those that are so in all of it. */
export class DeclaredObject extends ObjectMap {
  readonly whole: JsonObject
  constructor(whole: JsonObject, declared: JsonObject, read: FieldReader) {
    super(declared, read)
    this.whole = whole
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
