/** Which path element an entry of a list is, and which of a type's forms a value has. */
import { isJsonObject } from '#json/object.js'
import type { JsonValue } from '#json/value.js'
import type { FieldType, ListType } from './field-type.js'
import { keyElement, singleKeyElement, valueElement } from './path-element.js'

/** A value that does not fit its type; the message is upstream's, its path is added on the way out. */
export class TypeMismatch extends Error {}

/** The element of one entry; throws TypeMismatch for entries that cannot be told apart. */
export const elementOf = (list: ListType, item: JsonValue): string => {
  if (list.keys.length > 0) return keyedElementOf(list, item)
  if (isJsonObject(item)) {
    throw new TypeMismatch("associative list without keys has an element that's a map type")
  }
  if (Array.isArray(item)) {
    throw new TypeMismatch('not supported: associative list with lists as elements')
  }
  if (item === null) {
    throw new TypeMismatch("associative list without keys has an element that's an explicit null")
  }
  return valueElement(item)
}

/** Upstream's empty path element: it stands for an entry that cannot be told apart, and equals that of no other. */
const lost = 'i:-1'

/** The same in an object that was checked: an entry may have become null since, when all its fields were taken away. */
export const elementOrLost = (list: ListType, item: JsonValue): string => {
  try {
    return elementOf(list, item)
  } catch (error) {
    if (error instanceof TypeMismatch) return lost
    throw error
  }
}

const keyedElementOf = (list: ListType, item: JsonValue): string => {
  if (item === null) {
    throw new TypeMismatch('associative list with keys may not have a null element')
  }
  if (!isJsonObject(item)) {
    throw new TypeMismatch('associative list with keys may not have non-map elements')
  }
  const [only = ''] = list.keys
  if (list.keys.length === 1 && Object.hasOwn(item, only))
    return singleKeyElement(only, item[only]!)
  const fields: [string, JsonValue][] = []
  for (const key of list.keys) {
    const value = Object.hasOwn(item, key) ? item[key] : list.element.map?.defaultOf(key)
    if (value !== undefined) fields.push([key, value])
  }
  if (fields.length === 0) {
    const keys = list.keys.map((key) => JSON.stringify(key)).join(' ')
    throw new TypeMismatch(
      `associative list with keys has an element that omits all key fields [${keys}] (and doesn't have default values for any key fields)`,
    )
  }
  return keyElement(fields)
}

export type Form = 'map' | 'scalar' | 'list'

/** The form that a value is walked in; null takes the first that its type has. */
export const formOf = (type: FieldType, value: JsonValue): Form => {
  if (value !== null) {
    if (Array.isArray(value)) {
      if (type.list !== undefined) return 'list'
    } else if (typeof value === 'object') {
      if (type.map !== undefined) return 'map'
    } else if (type.scalar !== undefined) return 'scalar'
  }
  if (type.map !== undefined) return 'map'
  return type.scalar !== undefined ? 'scalar' : 'list'
}

export const isEmptyOrNot = (value: JsonValue, form: 'map' | 'list'): boolean => {
  if (form === 'list') return !Array.isArray(value) || value.length === 0
  if (!isJsonObject(value)) return true
  for (const _key in value) return false
  return true
}
