/** The directives of a strategic merge patch, and what is left of a patch without them. */
import { isJsonObject, setOwn } from '#json/object.js'
import type { JsonValue } from '#json/value.js'

export const patchDirective = '$patch'
export const retainKeysDirective = '$retainKeys'
export const deleteFromListPrefix = '$deleteFromPrimitiveList'
export const setElementOrderPrefix = '$setElementOrder'

/** Undefined for an object that is a directive. */
export const removeDirectives = (value: JsonValue): JsonValue | undefined => {
  if (Array.isArray(value)) {
    return value.map(removeDirectives).filter((entry): entry is JsonValue => entry !== undefined)
  }
  if (!isJsonObject(value)) return value
  if (Object.hasOwn(value, patchDirective)) return undefined
  for (const key of Object.keys(value)) {
    const kept = removeDirectives(value[key]!)
    if (kept === undefined) delete value[key]
    else setOwn(value, key, kept)
  }
  return value
}
