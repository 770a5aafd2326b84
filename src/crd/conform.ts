/** Makes an object what the schema of its version says: pruned, without nulls, with defaults. */

import type { KubeObject } from '#api/object.js'
import { oncePerObject } from '#async/once.js'
import { cloneJson, jsonEqual } from '#json/object.js'
import { applyDefaults, dropNulls, hasDefaults } from './apply-defaults.js'
import { coerceEmbedded, dropInvalidEmbedded } from './embedded.js'
import { prune } from './prune.js'
import type { StructuralSchema } from './structural-schema.js'

/** The root is not an embedded object, whatever its schema says: the registry reads its metadata. */
const partsOf = oncePerObject((schema: StructuralSchema) => ({
  ...schema,
  'x-kubernetes-embedded-resource': false,
}))

/** Prunes and defaults; yields the pruned paths. Embedded metadata is read afterwards. */
const fit = (object: KubeObject, schema: StructuralSchema): string[] => {
  const unknown = prune(object, schema)
  dropNulls(object, schema)
  applyDefaults(object, schema)
  return unknown
}

/** For an object from a client; yields a message for each unknown field. */
export const conform = (object: KubeObject, schema: StructuralSchema): string[] => {
  const unknown = fit(object, schema).map((path) => `unknown field "${path}"`)
  return [...unknown, ...coerceEmbedded(object, partsOf(schema))]
}

/** For what a conversion made; changes the object. */
export const conformConverted = (object: KubeObject, schema: StructuralSchema): void => {
  prune(object, schema)
  dropNulls(object, schema)
  dropInvalidEmbedded(object, partsOf(schema))
}

/** A stored object as `schema` shows it; the same one when that changes nothing. */
export const shownBy = (object: KubeObject, schema: StructuralSchema): KubeObject => {
  const copy = cloneJson(object)
  fit(copy, schema)
  dropInvalidEmbedded(copy, partsOf(schema))
  return jsonEqual(copy, object) ? object : copy
}

/** False if every stored object is shown as it is. */
export const mayShowOtherwise = (schema: StructuralSchema): boolean =>
  hasDefaults(schema) || !preservesAll(schema)

const preservesAll = (schema: StructuralSchema): boolean =>
  schema['x-kubernetes-preserve-unknown-fields'] === true &&
  Object.keys(schema.properties ?? {}).length === 0
