/** The claims of a token, and the user made of them, as CEL values (apiserver, oidc.go: unescapeMapper). */

import { ObjectMap } from '#cel/json-values.js'
import { propertyName } from '#cel/schema-types.js'
import type { CelValue } from '#cel/values.js'
import type { JsonObject, JsonValue } from '#json/value.js'

/** `claims.foo__dot__bar` is the claim `foo.bar`, at any depth. */
class NamedMap extends ObjectMap {
  constructor(source: JsonObject) {
    super(source, (_key, value) => celValueOf(value))
  }
  override get(key: CelValue): CelValue | undefined {
    return super.get(typeof key === 'string' ? (propertyName(key) ?? key) : key)
  }
}

/** Numbers are doubles, as Go reads them from JSON that has no type. */
const celValueOf = (value: JsonValue | undefined): CelValue => {
  if (value === undefined || value === null) return null
  if (typeof value === 'bigint') return Number(value)
  if (typeof value !== 'object') return value
  return Array.isArray(value) ? value.map(celValueOf) : new NamedMap(value)
}

export const claimsValue = (claims: JsonObject): CelValue => new NamedMap(claims)
