/**
 * The apiVersion and kind of a text, before anything else of it is read (apimachinery,
 * runtime/serializer/json/meta.go).
 */

import type { JsonObject, JsonValue } from '#json/value.js'
import { goKindOf } from './decoder-texts.js'

export type TypeMeta = Partial<Record<'apiVersion' | 'kind', string | null>>

/** What encoding/json reads of the two: their keys in any case, the last one counts; `entries` are those of the text. The decoder of the rest is strict. */
export const typeMetaOf = (
  value: JsonObject,
  unrecognized: (message: string) => Error,
  entries: readonly (readonly [string, JsonValue, string?])[] = Object.entries(value),
): TypeMeta => {
  const found: TypeMeta = {}
  for (const [key, given] of entries) {
    if (key.length !== 4 && key.length !== 10) continue
    const name = key.toLowerCase()
    const field = name === 'kind' ? 'kind' : name === 'apiversion' ? 'apiVersion' : undefined
    if (field === undefined) continue
    if (given !== null && typeof given !== 'string')
      throw unrecognized(
        `couldn't get version/kind; json parse error: json: cannot unmarshal ${goKindOf(given)} into Go struct field .${field} of type string`,
      )
    found[field] = given ?? found[field] ?? null
  }
  return found
}
