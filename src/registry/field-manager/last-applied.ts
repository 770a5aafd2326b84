/**
 * What `kubectl apply` leaves in an annotation, so that the manager `kubectl` can move on to server-side apply without
 * conflicts with its former self, and back.
 * Source of the rules: apimachinery, pkg/util/managedfields/internal/lastapplied*.go.
 */

import { lastAppliedAnnotation } from '#api/last-applied.js'
import type { KubeObject } from '#api/object.js'
import { parse, stringify } from '#json/json.js'
import { isJsonObject, withKeysInOrder } from '#json/object.js'
import type { JsonObject, JsonValue } from '#json/value.js'
import { limits } from '#limits'
import { compareObjects } from './compare.js'
import { difference, type FieldSet, union } from './field-set.js'
import type { FieldType } from './field-type.js'
import { fieldSetOf } from './to-field-set.js'

const lastAppliedOf = (object: KubeObject): string | undefined =>
  object.metadata.annotations?.[lastAppliedAnnotation] || undefined

/** Fields that client-side apply wrote and that nobody changed since; undefined when there are none to speak of. */
export const fieldsOfLastApplied = (
  live: KubeObject,
  apiVersion: string,
  type: FieldType,
): FieldSet | undefined => {
  const text = lastAppliedOf(live)
  if (text === undefined) return undefined
  let applied: JsonValue
  try {
    applied = parse(text)
  } catch {
    return undefined
  }
  if (!isJsonObject(applied) || applied.apiVersion !== apiVersion) return undefined
  const changes = compareObjects(applied, live, type)
  const changed = union(union(changes.modified, changes.added), changes.removed)
  return difference(fieldSetOf(applied, type), changed)
}

/** Upstream's accessor sees annotations in nothing but a map of texts, and takes away what it does not see. */
const withoutAnnotation = (patch: JsonObject): JsonObject => {
  const { metadata } = patch
  if (!isJsonObject(metadata)) return patch
  const { annotations, ...others } = metadata
  const isSeen =
    isJsonObject(annotations) && Object.values(annotations).every((v) => typeof v === 'string')
  if (!isSeen) return { ...patch, metadata: others }
  const { [lastAppliedAnnotation]: _old, ...rest } = annotations
  return { ...patch, metadata: { ...others, annotations: rest } }
}

/** Keeps the annotation of an object that has one in step with what was applied. */
export const withLastApplied = (object: KubeObject, patch: JsonObject): KubeObject => {
  if (lastAppliedOf(object) === undefined) return object
  const applied = withoutAnnotation(patch)
  const annotations: Record<string, string> = {
    ...object.metadata.annotations,
    [lastAppliedAnnotation]: `${stringify(withKeysInOrder(applied))}\n`,
  }
  const bytes = Object.entries(annotations).reduce(
    (sum, [key, value]) => sum + Buffer.byteLength(key) + Buffer.byteLength(value),
    0,
  )
  if (bytes > limits.annotationsBytesMax) delete annotations[lastAppliedAnnotation]
  return { ...object, metadata: { ...object.metadata, annotations } }
}
