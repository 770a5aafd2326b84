/**
 * Notes lists, maps and bytes that were given as empty in fields with omitempty. Until an object is stored, Go tells such
 * a field from a missing one (`[]` is not nil): validation depends on it and messages print it. Our objects are the JSON
 * that Go writes, which has no such field. So it is noted on the object that has the field, under a symbol: JSON, lists
 * of keys and comparisons do not see it, and copies by spread keep it.
 *
 * A quantity that was given in other words than it is stored in (`0.5`, stored as `500m`) is noted in the same way, by its
 * text: where Go compares whole lists, it compares the digits and scales that quantities hold.
 */
import type { JsonValue } from './value.js'

const key = Symbol('given empty')
type Noted = { [key]?: Readonly<Record<string, JsonValue>> }

/** `empty`: the list, map or text as it was given. */
export const noteGivenEmpty = (holder: object, field: string, empty: JsonValue): void => {
  const noted = holder as Noted
  noted[key] = { ...noted[key], [field]: empty }
}

/** The quantities of a holder as they were given, by field, all at once: a map may have very many. The fields have the canonical ones. */
export const noteGivenTexts = (
  holder: object,
  texts: Readonly<Record<string, JsonValue>>,
): void => {
  const noted = holder as Noted
  noted[key] = { ...noted[key], ...texts }
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

type Notes = Readonly<Record<string, JsonValue>>

/** Whether something under the value has notes of which the question is true. */
const holds = (value: unknown, ask: (notes: Notes, holder: object) => boolean): boolean => {
  if (typeof value !== 'object' || value === null) return false
  const notes = (value as Noted)[key]
  if (notes !== undefined && ask(notes, value)) return true
  for (const key in value) if (holds(value[key as never], ask)) return true
  return false
}

/** Defaults may have filled in since. */
const hasEmptyField = (notes: Notes, holder: object): boolean =>
  Object.keys(notes).some((field) => !Object.hasOwn(holder, field))

const hasOtherText = (notes: Notes): boolean =>
  Object.values(notes).some((given) => typeof given === 'string' && given !== '')

/** Whether something under the value is noted as empty. */
export const holdsGivenEmpty = (value: unknown): boolean => holds(value, hasEmptyField)

/** Whether something under the value was given in another way than storage has it. */
export const holdsGivenOtherwise = (value: unknown): boolean =>
  holds(value, (notes, holder) => hasEmptyField(notes, holder) || hasOtherText(notes))
