/**
 * Lists, maps and bytes that were given as empty, in fields that are not written when they are empty. Until an object is
 * stored Go tells them from what was not given (`[]` is not nil): validation asks for it, messages print it, and what
 * omitempty leaves out of JSON has no place in our objects, which are that JSON. So each is noted on the object that has
 * the field, under a key that no JSON, no list of keys and no comparison contains, and that copies by spread keep.
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

/** A field that got another value than what was given. */
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

/** What storing does: nothing is noted in the object any more. Costs nothing for one that is not marked. */
export const forgetGivenEmpty = (root: object): void => {
  if (hasGivenEmpty(root)) forgetIn(root)
}

const hasEmptyField = (holder: object): boolean => {
  const notes = (holder as Noted)[key]
  // Defaults may have filled in since.
  return notes !== undefined && Object.keys(notes).some((field) => !Object.hasOwn(holder, field))
}

/** Whether something under the value is noted. */
export const holdsGivenEmpty = (value: unknown): boolean =>
  typeof value === 'object' &&
  value !== null &&
  (hasEmptyField(value) || Object.values(value).some(holdsGivenEmpty))
