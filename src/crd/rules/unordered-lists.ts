/**
 * Sets, and lists whose items are told apart by keys (apiserver, pkg/cel/common/valuesunstructured.go). Upstream looks for
 * an item by what it is in Go, and what is seen here are the consequences: a set of times or of whole numbers without the
 * type integer equals none, as an item of the other list is no longer what was written.
 */

import { once } from '#async/once.js'
import { celName } from '#cel/schema-types.js'
import { CelError, type CelValue, type ListKind, MapValue, typeNameOf } from '#cel/values.js'
import { getOwn, isJsonObject } from '#json/object.js'
import type { JsonObject, JsonValue } from '#json/value.js'
import type { StructuralSchema } from '../structural-schema.js'
import { DeclaredObject } from './declared-object.js'

const unhashable = (type: string): never => {
  throw new CelError(`internal error: runtime error: hash of unhashable type ${type}`)
}
const list = '[]interface {}'
const map = 'map[string]interface {}'

const scalarKey = (value: null | boolean | number | bigint | string): string =>
  `${typeof value} ${value}`

const writtenKey = (value: JsonValue | undefined): string => {
  if (value === undefined) return scalarKey(null)
  if (Number.isSafeInteger(value)) return scalarKey(BigInt(value as number))
  if (Array.isArray(value)) return unhashable(list)
  return isJsonObject(value) ? unhashable(map) : scalarKey(value)
}

const seenKey = (value: CelValue): string => {
  if (typeof value !== 'object' || value === null) return scalarKey(value)
  if (Array.isArray(value)) return unhashable(list)
  if (value instanceof Uint8Array) return unhashable('[]uint8')
  return value instanceof MapValue ? unhashable(map) : typeNameOf(value)
}

const setOf = (written: readonly JsonValue[]): ListKind => ({
  isSet: true,
  identities: once(() => written.map(writtenKey)),
  identityOf: seenKey,
})

const mapBy = (keys: readonly string[], written: readonly JsonValue[]): ListKind => {
  // By their names in CEL, under which what was written has no `namespace`.
  const names = keys.map((key) => celName(key) ?? key)
  const identityOf = (item: JsonObject): string =>
    JSON.stringify(names.map((name) => writtenKey(getOwn(item, name))))
  return {
    isSet: false,
    identities: once(() => written.map((item) => identityOf(isJsonObject(item) ? item : {}))),
    identityOf: (item) => (item instanceof DeclaredObject ? identityOf(item.whole) : undefined),
  }
}

/** Undefined for lists whose order counts. */
export const listKindOf = (
  written: readonly JsonValue[],
  schema: StructuralSchema,
): ListKind | undefined => {
  const type = schema['x-kubernetes-list-type']
  if (type === 'set') return setOf(written)
  return type === 'map' ? mapBy(schema['x-kubernetes-list-map-keys'] ?? [], written) : undefined
}
