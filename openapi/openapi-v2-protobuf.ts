/**
 * The OpenAPI 2 document as gnostic's message openapi.v2.Document: a table of field numbers for what such documents
 * hold (gnostic, openapiv2/OpenAPIv2.proto). What the messages have no field for is left out, as gnostic's form cannot
 * carry it. Maps are lists of names with values, and what has no fixed shape is its YAML text.
 */
import { isJsonObject } from '#json/object.js'
import type { JsonObject } from '#json/value.js'
import {
  any,
  choice,
  chosenFlag,
  count,
  double,
  encodeDocument,
  externalDocs,
  type Field,
  flag,
  isReference,
  isText,
  list,
  type Message,
  map,
  message,
  security,
  type ToYaml,
  text,
  within,
} from './gnostic-messages.js'

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
    additionalProperties: within(
      21,
      choice(
        isJsonObject,
        message(1, () => schema),
        chosenFlag(2),
      ),
    ),
    type: within(22, choice(isText, text(1), list(text(1)))),
    items: within(
      23,
      choice(
        isJsonObject,
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
  if (!isJsonObject(value)) return []
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
    // Only one kind of security is ever declared here: a token in a header.
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

/** The bytes of openapi.v2.Document. */
export const encodeOpenApiV2 = (value: JsonObject, yaml: ToYaml): Buffer =>
  encodeDocument(document, value, yaml)
