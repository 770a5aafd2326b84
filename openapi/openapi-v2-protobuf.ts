/**
 * The OpenAPI 2 document as gnostic's message openapi.v2.Document: a table of field numbers for what such documents
 * hold (gnostic, openapiv2/OpenAPIv2.proto). What the messages have no field for is left out, as gnostic's form cannot
 * carry it. Maps are lists of names with values, and what has no fixed shape is its YAML text.
 */
import type { JsonObject, JsonValue } from '#api/object.js'

/** The text of a value, in YAML's block form. */
export type ToYaml = (value: JsonValue) => string

/** A field with its tag; nothing for a value that the field cannot hold. */
type Field = (value: JsonValue, yaml: ToYaml) => readonly Buffer[]
interface Message {
  readonly fields: Readonly<Record<string, Field>>
  /** Where members whose name begins with `x-` go. */
  readonly extensions?: number
  /** Where members go that are no field: of a map. */
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

const isObject = (value: JsonValue): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

// proto3 does not send what is a type's zero.
const text =
  (number: number): Field =>
  (value) =>
    typeof value === 'string' && value !== '' ? [delimited(number, [Buffer.from(value)])] : []

const flag =
  (number: number): Field =>
  (value) =>
    value === true ? [tag(number, wire.varint), varint(1)] : []

const count =
  (number: number): Field =>
  (value) =>
    Number.isSafeInteger(Number(value)) && Number(value) > 0
      ? [tag(number, wire.varint), varint(Number(value))]
      : []

const double =
  (number: number): Field =>
  (value) => {
    if ((typeof value !== 'number' && typeof value !== 'bigint') || Number(value) === 0) return []
    const bytes = Buffer.alloc(8)
    bytes.writeDoubleLE(Number(value))
    return [tag(number, wire.double), bytes]
  }

/** Any: the other of its two fields, a google.protobuf.Any, is never set by gnostic. */
const any =
  (number: number): Field =>
  (value, yaml) => [delimited(number, text(2)(yaml(value), yaml))]

const list =
  (field: Field): Field =>
  (value, yaml) =>
    Array.isArray(value) ? value.flatMap((element) => field(element, yaml)) : []

const message =
  (number: number, type: () => Message): Field =>
  (value, yaml) =>
    isObject(value) ? [delimited(number, encode(type(), value, yaml))] : []

/** A message around one field, as those that stand for a choice. */
const within =
  (number: number, field: Field): Field =>
  (value, yaml) => [delimited(number, field(value, yaml))]

const choice =
  (when: (value: JsonValue) => boolean, then: Field, otherwise: Field): Field =>
  (value, yaml) =>
    (when(value) ? then : otherwise)(value, yaml)

/** Members by name: the fields of an entry are its name and its value. */
const entries = (object: JsonObject, number: number, value: Field, yaml: ToYaml): Buffer[] =>
  Object.entries(object).map(([name, member]) =>
    delimited(number, [...text(1)(name, yaml), ...value(member, yaml)]),
  )

const map =
  (number: number, value: Field): Field =>
  (object, yaml) =>
    isObject(object) ? entries(object, number, value, yaml) : []

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

const isText = (value: JsonValue): boolean => typeof value === 'string'
const isReference = (value: JsonValue): boolean => isObject(value) && isText(value.$ref ?? null)

/** The constraints of a value, from the number of the first of them; the last numbers differ by message. */
const constraints = (first: number): Record<string, Field> => ({
  maximum: double(first),
  exclusiveMaximum: flag(first + 1),
  minimum: double(first + 2),
  exclusiveMinimum: flag(first + 3),
  maxLength: count(first + 4),
  minLength: count(first + 5),
  pattern: text(first + 6),
  maxItems: count(first + 7),
  minItems: count(first + 8),
  uniqueItems: flag(first + 9),
})

const externalDocs: Message = { fields: { description: text(1), url: text(2) }, extensions: 3 }

const schema: Message = {
  fields: {
    $ref: text(1),
    format: text(2),
    title: text(3),
    description: text(4),
    default: any(5),
    multipleOf: double(6),
    ...constraints(7),
    maxProperties: count(17),
    minProperties: count(18),
    required: list(text(19)),
    enum: list(any(20)),
    additionalProperties: choice(
      isObject,
      within(
        21,
        message(1, () => schema),
      ),
      // A choice is sent even when it is false.
      (value) => [delimited(21, [tag(2, wire.varint), varint(value === true ? 1 : 0)])],
    ),
    type: within(22, choice(isText, text(1), list(text(1)))),
    items: within(
      23,
      choice(
        isObject,
        message(1, () => schema),
        list(message(1, () => schema)),
      ),
    ),
    allOf: list(message(24, () => schema)),
    properties: within(
      25,
      map(
        1,
        message(2, () => schema),
      ),
    ),
    discriminator: text(26),
    readOnly: flag(27),
    externalDocs: message(29, () => externalDocs),
    example: any(30),
  },
  extensions: 31,
}

const primitive: Message = {
  fields: {
    type: text(1),
    format: text(2),
    items: message(3, () => primitive),
    collectionFormat: text(4),
    default: any(5),
    ...constraints(6),
    enum: list(any(16)),
    multipleOf: double(17),
  },
  extensions: 18,
}

/** Parameters outside the body; those that may be empty have one field more in the middle. */
const parameter = (mayBeEmpty: boolean): Message => {
  const shift = mayBeEmpty ? 1 : 0
  return {
    fields: {
      required: flag(1),
      in: text(2),
      description: text(3),
      name: text(4),
      ...(mayBeEmpty ? { allowEmptyValue: flag(5) } : {}),
      type: text(5 + shift),
      format: text(6 + shift),
      items: message(7 + shift, () => primitive),
      collectionFormat: text(8 + shift),
      default: any(9 + shift),
      ...constraints(10 + shift),
      enum: list(any(20 + shift)),
      multipleOf: double(21 + shift),
    },
    extensions: 22 + shift,
  }
}

const bodyParameter: Message = {
  fields: {
    description: text(1),
    name: text(2),
    in: text(3),
    required: flag(4),
    schema: message(5, () => schema),
  },
  extensions: 6,
}

const places: Readonly<Record<string, { number: number; type: Message }>> = {
  header: { number: 1, type: parameter(false) },
  formData: { number: 2, type: parameter(true) },
  query: { number: 3, type: parameter(true) },
  path: { number: 4, type: parameter(false) },
}

const anyParameter: Field = (value, yaml) => {
  if (!isObject(value)) return []
  if (value.in === 'body') return message(1, () => bodyParameter)(value, yaml)
  const place = places[String(value.in)]
  return place === undefined
    ? []
    : within(
        2,
        message(place.number, () => place.type),
      )(value, yaml)
}

const reference: Message = { fields: { $ref: text(1), description: text(2) } }

const parameters = (number: number): Field =>
  list(
    within(
      number,
      choice(
        isReference,
        message(2, () => reference),
        within(1, anyParameter),
      ),
    ),
  )

const response: Message = {
  fields: {
    description: text(1),
    schema: within(
      2,
      message(1, () => schema),
    ),
  },
  extensions: 5,
}

const responses: Message = {
  fields: {},
  rest: map(
    1,
    within(
      2,
      choice(
        isReference,
        message(2, () => reference),
        message(1, () => response),
      ),
    ),
  ),
  extensions: 2,
}

/** Each requirement: scopes by the name of a security definition. */
const security = (number: number): Field => list(within(number, map(1, within(2, list(text(1))))))

const operation: Message = {
  fields: {
    tags: list(text(1)),
    summary: text(2),
    description: text(3),
    externalDocs: message(4, () => externalDocs),
    operationId: text(5),
    produces: list(text(6)),
    consumes: list(text(7)),
    parameters: parameters(8),
    responses: message(9, () => responses),
    schemes: list(text(10)),
    deprecated: flag(11),
    security: security(12),
  },
  extensions: 13,
}

const pathItem: Message = {
  fields: {
    $ref: text(1),
    get: message(2, () => operation),
    put: message(3, () => operation),
    post: message(4, () => operation),
    delete: message(5, () => operation),
    options: message(6, () => operation),
    head: message(7, () => operation),
    patch: message(8, () => operation),
    parameters: parameters(9),
  },
  extensions: 10,
}

const apiKey: Message = {
  fields: { type: text(1), name: text(2), in: text(3), description: text(4) },
  extensions: 5,
}

const document: Message = {
  fields: {
    swagger: text(1),
    info: message(2, () => ({
      fields: { title: text(1), version: text(2), description: text(3), termsOfService: text(4) },
      extensions: 7,
    })),
    host: text(3),
    basePath: text(4),
    schemes: list(text(5)),
    consumes: list(text(6)),
    produces: list(text(7)),
    paths: within(
      8,
      map(
        2,
        message(2, () => pathItem),
      ),
    ),
    definitions: within(
      9,
      map(
        1,
        message(2, () => schema),
      ),
    ),
    parameters: within(10, map(1, within(2, anyParameter))),
    responses: within(
      11,
      map(
        1,
        message(2, () => response),
      ),
    ),
    security: security(12),
    // Of the kinds of security only that of a token in a header is ever declared here.
    securityDefinitions: within(
      13,
      map(
        1,
        within(
          2,
          message(2, () => apiKey),
        ),
      ),
    ),
    externalDocs: message(15, () => externalDocs),
  },
  extensions: 16,
}

/** The bytes of openapi.v2.Document. Extensions are few and often the same: each is formatted once. */
export const encodeOpenApiV2 = (value: JsonObject, yaml: ToYaml): Buffer => {
  const texts = new Map<string, string>()
  const once: ToYaml = (member) => {
    const key = JSON.stringify(member)
    const made = texts.get(key) ?? yaml(member)
    texts.set(key, made)
    return made
  }
  return Buffer.concat(encode(document, value, once))
}
