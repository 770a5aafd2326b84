/** Which types hold JSON that Go keeps as it was written (RawExtension): there the order of keys is seen, and compared. */
import { goTypeName } from '#openapi/schemas.js'
import { type GoType, goFieldsOf } from './go-type.js'

const holdsRawIn = (type: GoType, seen: Set<string>): boolean => {
  if (type.form === 'slice') return holdsRawIn(type.item, seen)
  if (type.form === 'map') return holdsRawIn(type.value, seen)
  if (type.form === 'custom') return type.custom === 'Raw'
  // The owners in the metadata are in order anyway.
  if (type.form !== 'struct' || type.key === 'meta.ObjectMeta' || seen.has(type.key)) return false
  seen.add(type.key)
  return goFieldsOf(type.key).some((field) => holdsRawIn(field.type, seen))
}

const known = new Map<string, boolean>()

/** Objects of that schema; of none, a custom kind's, nothing is kept so. */
export const holdsRaw = (schemaName: string | undefined): boolean => {
  if (schemaName === undefined) return false
  let holds = known.get(schemaName)
  if (holds === undefined) {
    const key = goTypeName(schemaName)
    const seen = new Set([key])
    holds = goFieldsOf(key).some((field) => holdsRawIn(field.type, seen))
    known.set(schemaName, holds)
  }
  return holds
}
