/**
 * Notes lists, maps and bytes that were given as empty in fields with omitempty. Until an object is stored, Go tells such
 * a field from a missing one (`[]` is not nil): validation depends on it and messages print it. Our objects are the JSON
 * that Go writes, which has no such field. So it is noted on the object that has the field, under a symbol: JSON, lists
 * of keys and comparisons do not see it, and copies by spread keep it.
 */
import type { JsonValue } from './object.js'

const key = Symbol('given empty')
type Noted = { [key]?: Readonly<Record<string, JsonValue>> }

/** `empty`: the list, map or text as it was given. */
export const noteGivenEmpty = (holder: object, field: string, empty: JsonValue): void => {
  const noted = holder as Noted
  noted[key] = { ...noted[key], [field]: empty }
}

/** What was noted of a field; undefined when it was not given, or not empty. */
export const givenEmpty = (
  holder: object | null | undefined,
  field: string,
): JsonValue | undefined => (holder as Noted | null | undefined)?.[key]?.[field]

/** Go's `!= nil` of a list or map. */
export const isGiven = (holder: object | null | undefined, field: string): boolean => {
  const value = (holder as Record<string, unknown> | null | undefined)?.[field]
  return (value !== undefined && value !== null) || givenEmpty(holder, field) !== undefined
}

/** Marks the object that has notes somewhere in it. */
export const markGivenEmpty = (root: object): void => {
  const noted = root as Noted
  noted[key] ??= {}
}

/** Gives a copy what is noted of the original. */
export const keepGivenEmpty = (copy: object, original: object): void => {
  const notes = (original as Noted)[key]
  if (notes !== undefined) (copy as Noted)[key] = notes
}

/** Whether the object is marked, or one of its own fields is noted. */
export const hasGivenEmpty = (value: object): boolean => (value as Noted)[key] !== undefined

/** Forgets the note of a field that was set to another value. */
export const forgetGivenEmptyField = (holder: object, field: string): void => {
  const noted = holder as Noted
  if (noted[key]?.[field] === undefined) return
  const { [field]: _empty, ...others } = noted[key]
  noted[key] = others
}

const forgetIn = (value: unknown): void => {
  if (typeof value !== 'object' || value === null) return
  if (hasGivenEmpty(value)) delete (value as Noted)[key]
  for (const part of Object.values(value)) forgetIn(part)
}

/** Forgets all notes, as storing does. Costs nothing for an object without the mark. */
export const forgetGivenEmpty = (root: object): void => {
  if (hasGivenEmpty(root)) forgetIn(root)
}

const hasEmptyField = (holder: object): boolean => {
  const notes = (holder as Noted)[key]
  // Defaults may have filled in since.
  return notes !== undefined && Object.keys(notes).some((field) => !Object.hasOwn(holder, field))
}

/** Whether something under the value is noted. */
export const holdsGivenEmpty = (value: unknown): boolean => {
  if (typeof value !== 'object' || value === null) return false
  if (hasEmptyField(value)) return true
  for (const key in value) if (holdsGivenEmpty(value[key as never])) return true
  return false
}
