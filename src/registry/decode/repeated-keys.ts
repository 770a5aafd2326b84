/**
 * What Go's decoder makes of a key that comes more than once: each value is read into what the one before it left there.
 * Structs and maps are merged, lists item by item; the entries of a map begin anew.
 */

import { isJsonObject, setOwn } from '#json/object.js'
import type { JsonTrace } from '#json/traced.js'
import type { JsonObject, JsonValue } from '#json/value.js'
import { type GoField, type GoType, goFieldsOf } from './go-type.js'

const fieldOf = (key: string, name: string): GoField | undefined =>
  goFieldsOf(key).find((field) => field.name === name)

type Literals = JsonTrace['literals']

/** What was merged knows how the numbers in it were written. */
const mergeLiterals = (literals: Literals, before: JsonObject, after: JsonObject): void => {
  const [merged, more] = [literals.get(before), literals.get(after)]
  if (merged !== undefined) for (const name of Object.keys(after)) merged.delete(name)
  if (merged === undefined && more !== undefined) literals.set(before, new Map(more))
  else for (const [name, literal] of more ?? []) merged?.set(name, literal)
}

/** Of the types that read their own JSON, raw ones pass over null, and IntOrString reads it as a number. */
const outlivesNull = (type: GoType, before: JsonValue): boolean => {
  if (type.form !== 'custom') return type.form === 'scalar' || type.form === 'struct'
  if (type.custom === 'IntOrString') return typeof before !== 'string'
  return type.custom === 'Raw'
}

/**
 * `after` as it is read where `before` is already; `isPointer`: null takes away what is there. Both are copies of ours,
 * and `before` is written into: a large map may come first, and ten thousand small ones behind it.
 */
const readInto = (
  type: GoType,
  before: JsonValue,
  after: JsonValue,
  literals: Literals,
  isPointer = false,
): JsonValue => {
  if (after === null) return !isPointer && outlivesNull(type, before) ? before : null
  if (type.form === 'slice' && Array.isArray(before) && Array.isArray(after))
    return after.map((item, i) =>
      i < before.length ? readInto(type.item, before[i]!, item, literals) : item,
    )
  if (!isJsonObject(before) || !isJsonObject(after)) return after
  if (type.form !== 'struct' && type.form !== 'map') return after
  mergeLiterals(literals, before, after)
  for (const [name, value] of Object.entries(after)) {
    const field = type.form === 'struct' ? fieldOf(type.key, name) : undefined
    const known = field !== undefined && Object.hasOwn(before, name)
    setOwn(before, name, known ? readField(field, before[name]!, value, literals) : value)
  }
  return before
}

const readField = (
  { type, pointer }: GoField,
  before: JsonValue,
  after: JsonValue,
  literals: Literals,
): JsonValue => readInto(type, before, after, literals, pointer)

/**
 * The value with one entry for each key. `trace` is what is known of the text; the copies that are made are added to
 * it.
 */
export const withRepeatedKeys = (type: GoType, value: JsonValue, trace: JsonTrace): JsonValue => {
  if (Array.isArray(value))
    return type.form === 'slice'
      ? value.map((item) => withRepeatedKeys(type.item, item, trace))
      : value
  if (!isJsonObject(value) || (type.form !== 'struct' && type.form !== 'map')) return value
  const result: JsonObject = {}
  for (const [name, given] of trace.entries.get(value) ?? Object.entries(value)) {
    const field = type.form === 'struct' ? fieldOf(type.key, name) : undefined
    const inner = type.form === 'map' ? type.value : field?.type
    const read = inner === undefined ? given : withRepeatedKeys(inner, given, trace)
    const again = field !== undefined && Object.hasOwn(result, name)
    setOwn(result, name, again ? readField(field, result[name]!, read, trace.literals) : read)
  }
  const literals = trace.literals.get(value)
  if (literals !== undefined) trace.literals.set(result, new Map(literals))
  return result
}
