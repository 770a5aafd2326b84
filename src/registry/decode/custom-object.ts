/**
 * The body of a custom resource before its schema looks at it: a private copy of unstructured JSON, of which only the
 * metadata has a Go type.
 */
import { dotted } from '#api/field-error.js'
import type { JsonTrace, WrittenEntry } from '#json/traced.js'
import type { JsonObject, JsonValue } from '#json/value.js'
import { DecodeError } from './explain.js'
import { StrictErrors } from './strict-errors.js'
import { noteFloat } from './whole-floats.js'

interface UnstructuredCopy {
  readonly value: JsonObject
  /** `duplicate field "spec.size"`, in the order of the text. */
  readonly duplicates: string[]
}

/** Throws DecodeError for a number that is none for Go. */
export const copyUnstructured = (value: JsonObject, trace?: JsonTrace): UnstructuredCopy => {
  const duplicates = new StrictErrors()
  const copy = (from: JsonValue, path: string, literal?: string): JsonValue => {
    if (typeof from === 'number' && !Number.isFinite(from))
      throw new DecodeError(
        `json: cannot unmarshal number ${literal ?? from} into Go value of type float64`,
      )
    // YAML's integers may be larger than an int64, JSON's are floats then.
    if (typeof from === 'bigint' && BigInt.asIntN(64, from) !== from) return Number(from)
    if (typeof from !== 'object' || from === null) return from
    const literals = trace?.literals.get(from)
    const withFloats = <T extends object>(to: T): T => {
      for (const [key, literal] of literals ?? [])
        noteFloat(to, key, (to as Record<string | number, JsonValue>)[key]!, literal)
      return to
    }
    if (Array.isArray(from))
      return withFloats(from.map((item, i) => copy(item, `${path}[${i}]`, literals?.get(i))))
    // Where keys stand twice: what a later one of the same name replaces is read as well.
    const written = trace?.entries.get(from)
    const seen = new Set<string>()
    const given: WrittenEntry[] = written ?? Object.entries(from)
    const entries = given.map(([key, inner, literal]): [string, JsonValue] => {
      if (seen.has(key)) duplicates.add('duplicate', dotted(path, key))
      if (written !== undefined) seen.add(key)
      return [key, copy(inner, dotted(path, key), literal ?? literals?.get(key))]
    })
    return withFloats(Object.fromEntries(entries))
  }
  return { value: copy(value, '') as JsonObject, duplicates: duplicates.all() }
}
