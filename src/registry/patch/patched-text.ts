/**
 * A patched document as Go's patch libraries print it in errors: objects that the patch went through have their keys in
 * order, what it left alone keeps the order of its Go type.
 */

import { stringify } from '#api/json.js'
import { isJsonObject, jsonEqual } from '#api/json-object.js'
import type { JsonObject, JsonValue, KubeObject } from '#api/object.js'
import { inFieldOrder } from '../object-meta.js'

const print = (after: JsonValue, before: JsonValue | undefined): string => {
  if (before === undefined || jsonEqual(after, before)) return stringify(before ?? after)
  if (!isJsonObject(after) || !isJsonObject(before)) return stringify(after)
  return printObject(after, before)
}

const printObject = (after: JsonObject, before: JsonObject): string => {
  const fields = Object.keys(after)
    .sort()
    .map((key) => {
      const earlier = Object.hasOwn(before, key) ? before[key] : undefined
      return `${JSON.stringify(key)}:${print(after[key]!, earlier)}`
    })
  return `{${fields.join(',')}}`
}

const fieldsBeforeVersion = new Set(['name', 'generateName', 'namespace', 'uid'])

const inTypeOrder = (object: KubeObject): JsonObject => {
  const ordered = inFieldOrder(object)
  const entries: [string, unknown][] = Object.entries(ordered.metadata)
  const { resourceVersion } = object.metadata
  const at = entries.filter(([field]) => fieldsBeforeVersion.has(field)).length
  if (resourceVersion !== undefined) entries.splice(at, 0, ['resourceVersion', resourceVersion])
  return { ...ordered, metadata: Object.fromEntries(entries) } as JsonObject
}

export const patchedText = (after: JsonValue, before: KubeObject): string =>
  isJsonObject(after) ? printObject(after, inTypeOrder(before)) : stringify(after)
