/**
 * How gnostic's messages are written: tables of field numbers. Maps are lists of names with values, and what has no
 * fixed shape is its YAML text.
 */
import { write } from '#json/json.js'
import { isJsonObject, isNumber } from '#json/object.js'
import type { JsonObject, JsonValue } from '#json/value.js'

/** The text of a value, in YAML's block form. */
export type ToYaml = (value: JsonValue) => string

/** A field with its tag; nothing for a value that the field cannot hold. */
export type Field = (value: JsonValue, yaml: ToYaml) => readonly Buffer[]
export interface Message {
  readonly fields: Readonly<Record<string, Field>>
  /** The field for members whose name begins with `x-`. */
  readonly extensions?: number
  /** The field for members without a field of their own, if the message is a map. */
  readonly rest?: Field
}

const wire = { varint: 0, double: 1, delimited: 2 } as const

const varint = (value: number): Buffer => {
  const bytes: number[] = []
  let rest = value
  for (; rest > 0x7f; rest = Math.floor(rest / 128)) bytes.push((rest % 128) | 0x80)
  return Buffer.from([...bytes, rest])
}

const tag = (number: number, type: number): Buffer => varint(number * 8 + type)

const delimited = (number: number, parts: readonly Uint8Array[]): Buffer => {
  const length = parts.reduce((sum, part) => sum + part.length, 0)
  return Buffer.concat([tag(number, wire.delimited), varint(length), ...parts])
}

export const isText = (value: JsonValue): boolean => typeof value === 'string'
export const isReference = (value: JsonValue): boolean =>
  isJsonObject(value) && isText(value.$ref ?? null)

// The chosen member is sent whatever its value.
export const chosenText =
  (number: number): Field =>
  (value) => [delimited(number, [Buffer.from(String(value))])]

export const chosenFlag =
  (number: number): Field =>
  (value) => [tag(number, wire.varint), varint(value === true ? 1 : 0)]

export const chosenDouble =
  (number: number): Field =>
  (value) => {
    const bytes = Buffer.alloc(8)
    bytes.writeDoubleLE(Number(value))
    return [tag(number, wire.double), bytes]
  }

// proto3 does not send the zero value of a type.
export const text =
  (number: number): Field =>
  (value, yaml) =>
    isText(value) && value !== '' ? chosenText(number)(value, yaml) : []

export const flag =
  (number: number): Field =>
  (value, yaml) =>
    value === true ? chosenFlag(number)(value, yaml) : []

export const count =
  (number: number): Field =>
  (value) =>
    Number.isSafeInteger(Number(value)) && Number(value) > 0
      ? [tag(number, wire.varint), varint(Number(value))]
      : []

export const double =
  (number: number): Field =>
  (value, yaml) =>
    isNumber(value) && Number(value) !== 0 ? chosenDouble(number)(value, yaml) : []

/** Any: the other of its two fields, a google.protobuf.Any, is never set by gnostic. */
export const any =
  (number: number): Field =>
  (value, yaml) => [delimited(number, text(2)(yaml(value), yaml))]

export const list =
  (field: Field): Field =>
  (value, yaml) =>
    Array.isArray(value) ? value.flatMap((element) => field(element, yaml)) : []

export const message =
  (number: number, type: () => Message): Field =>
  (value, yaml) =>
    isJsonObject(value) ? [delimited(number, encode(type(), value, yaml))] : []

/** A message around one field: that of a choice. */
export const within =
  (number: number, field: Field): Field =>
  (value, yaml) => [delimited(number, field(value, yaml))]

export const choice =
  (when: (value: JsonValue) => boolean, then: Field, otherwise: Field): Field =>
  (value, yaml) =>
    (when(value) ? then : otherwise)(value, yaml)

/** Members by name: the fields of an entry are its name and its value. */
const entries = (object: JsonObject, number: number, value: Field, yaml: ToYaml): Buffer[] =>
  Object.entries(object).map(([name, member]) =>
    delimited(number, [...text(1)(name, yaml), ...value(member, yaml)]),
  )

export const map =
  (number: number, value: Field): Field =>
  (object, yaml) =>
    isJsonObject(object) ? entries(object, number, value, yaml) : []

const encode = (type: Message, object: JsonObject, yaml: ToYaml): Buffer[] => {
  const parts: Buffer[] = []
  // Fields are sent in the order of their numbers, which is that of the tables.
  for (const [name, field] of Object.entries(type.fields))
    if (Object.hasOwn(object, name)) parts.push(...field(object[name]!, yaml))
  const rest = Object.entries(object).filter(([name]) => !Object.hasOwn(type.fields, name))
  const isExtension = (name: string) => name.startsWith('x-') || name.startsWith('X-')
  const pick = (extensions: boolean) =>
    Object.fromEntries(rest.filter(([name]) => isExtension(name) === extensions))
  if (type.rest !== undefined) parts.push(...type.rest(pick(false), yaml))
  if (type.extensions !== undefined)
    parts.push(...entries(pick(true), type.extensions, any(2), yaml))
  return parts
}

/** These two are the same in both versions. */
export const externalDocs: Message = {
  fields: { description: text(1), url: text(2) },
  extensions: 3,
}
/** Each requirement: scopes by the name of a security definition. */
export const security = (number: number): Field =>
  list(within(number, map(1, within(2, list(text(1))))))

/** The bytes of a document. Extensions are few and often the same: each is formatted once. */
export const encodeDocument = (document: Message, value: JsonObject, yaml: ToYaml): Buffer => {
  const texts = new Map<string, string>()
  const once: ToYaml = (member) => {
    const key = write(member)
    const made = texts.get(key) ?? yaml(member)
    texts.set(key, made)
    return made
  }
  return Buffer.concat(encode(document, value, once))
}
