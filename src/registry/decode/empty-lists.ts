/**
 * Storage is protobuf, which forgets the difference between an empty list and none: what must be written comes back as
 * null. Until an object is stored the difference counts for all who see it: managed fields, admission and validation.
 */
import type { JsonObject, JsonValue } from '#json/value.js'
import { type GoType, goFieldsOf } from './go-type.js'

/** Changes the value in place, except for parts that it shares with `stored`. */
type Forget = (value: JsonValue, stored?: JsonObject) => void

const known = new Map<string, Forget | undefined>()

const isEmptyHolder = (value: JsonValue): boolean =>
  Array.isArray(value)
    ? value.length === 0
    : value === '' ||
      (typeof value === 'object' && value !== null && Object.keys(value).length === 0)

const forgetIn = (type: GoType): Forget | undefined => {
  if (type.form === 'struct') return forgetInStruct(type.key)
  if (type.form !== 'slice' && type.form !== 'map') return undefined
  const forget = forgetIn(type.form === 'slice' ? type.item : type.value)
  return forget === undefined
    ? undefined
    : (value) => {
        const items = Array.isArray(value) ? value : Object.values(value ?? {})
        for (const item of items) forget(item as JsonValue)
      }
}

const holderForms: ReadonlySet<GoType['form']> = new Set(['slice', 'map', 'bytes'])

interface Part {
  name: string
  /** What is empty becomes null here. */
  required: boolean
  forget: Forget | undefined
}

/** Only what can hold such a list is looked at; most structs have none. */
const forgetInStruct = (key: string): Forget | undefined => {
  if (known.has(key)) return known.get(key)
  // Schemas of schemas hold themselves.
  known.set(key, undefined)
  const parts = goFieldsOf(key)
    .map((field): Part => {
      const holds = holderForms.has(field.type.form)
      return {
        name: field.name,
        required: holds && !field.omitEmpty && !field.pointer,
        forget: forgetIn(field.type),
      }
    })
    .filter(({ required, forget }) => required || forget !== undefined)
  const forget: Forget | undefined =
    parts.length === 0
      ? undefined
      : (value, stored) => {
          if (typeof value !== 'object' || value === null) return
          const object = value as JsonObject
          for (const { name, required, forget } of parts) {
            const inner = object[name]
            if (inner === undefined || inner === null || inner === stored?.[name]) continue
            if (required && isEmptyHolder(inner)) object[name] = null
            else forget?.(inner)
          }
        }
  known.set(key, forget)
  return forget
}

/** `key` names a struct of openapi/data/go-fields.json. */
export const forgetEmptyListsOf = (
  key: string,
  object: JsonObject,
  stored: JsonObject | undefined,
): void => {
  forgetInStruct(key)?.(object, stored)
}
