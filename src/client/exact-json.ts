/**
 * JSON of objects as our processes read and write them. Numbers are doubles, which is all that they reckon with. An integer
 * that a double cannot hold is noted beside its double, on the object that has the field, so that whoever passes a
 * template on writes what was read. Copies by spread keep the notes; a field that was set to another number has none. In a
 * list, with whose numbers nobody reckons, it stays itself.
 */
import { parse, write } from '#json/json.js'
import { canonicalJson, getOwn, isJsonObject, setOwn, withKeysInOrder } from '#json/object.js'
import type { JsonObject, JsonValue } from '#json/value.js'

const key = Symbol('exact integers')
type Noted = { [key]?: Readonly<Record<string, bigint>> }

/** Most processes never meet such an integer, and pay for none. */
let hasNotes = false

const noted = (value: JsonValue): JsonValue => {
  if (typeof value === 'bigint') hasNotes = true
  if (Array.isArray(value)) return value.map(noted)
  if (!isJsonObject(value)) return value
  const exact: Record<string, bigint> = {}
  for (const [field, item] of Object.entries(value)) {
    value[field] = typeof item === 'bigint' ? Number(item) : noted(item)
    if (typeof item === 'bigint') setOwn(exact, field, item)
  }
  if (Object.keys(exact).length > 0) {
    const holder = value as Noted
    holder[key] = exact
    hasNotes = true
  }
  return value
}

const restored = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(restored)
  if (!isJsonObject(value)) return value
  const exact = (value as Noted)[key] ?? {}
  const copy: JsonObject = {}
  for (const [field, item] of Object.entries(value)) {
    const integer = getOwn(exact, field)
    setOwn(copy, field, (Number(integer) === item ? integer : restored(item)) as JsonValue)
  }
  return copy
}

/** Throws for a text that is no JSON. */
export const readJson = (text: string): unknown =>
  /\d{16}/.test(text) ? noted(parse(text)) : JSON.parse(text)

export const writeJson = (value: unknown): string =>
  hasNotes ? write(restored(value)) : JSON.stringify(value)

/** A copy with sorted keys. */
export const canonicalCopy = <T>(value: T): T => {
  const text = hasNotes ? write(withKeysInOrder(parse(writeJson(value)))) : canonicalJson(value)
  return readJson(text) as T
}
