/**
 * The OpenAPI 3 document as gnostic's message openapi.v3.Document: field numbers for what such documents hold (gnostic,
 * openapiv3/OpenAPIv3.proto). What the messages have no field for is left out.
 */
import { isJsonObject, isNumber } from '#json/object.js'
import type { JsonObject } from '#json/value.js'
import {
  any,
  choice,
  chosenDouble,
  chosenFlag,
  chosenText,
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

const reference: Message = { fields: { $ref: text(1), summary: text(2), description: text(3) } }

/** A field that holds a message, or a reference to one. */
const orReference = (type: () => Message): Field =>
  choice(
    isReference,
    message(2, () => reference),
    message(1, type),
  )

/** Lists and maps have no form here. */
const defaultType = within(
  33,
  choice(
    isNumber,
    chosenDouble(1),
    choice(
      (value) => typeof value === 'boolean',
      chosenFlag(2),
      choice(isText, chosenText(3), () => []),
    ),
  ),
)

const schemaOrReference = (number: number): Field =>
  within(
    number,
    orReference(() => schema),
  )

const schema: Message = {
  fields: {
    nullable: flag(1),
    readOnly: flag(3),
    writeOnly: flag(4),
    externalDocs: message(6, () => externalDocs),
    example: any(7),
    deprecated: flag(8),
    title: text(9),
    multipleOf: double(10),
    maximum: double(11),
    exclusiveMaximum: flag(12),
    minimum: double(13),
    exclusiveMinimum: flag(14),
    maxLength: count(15),
    minLength: count(16),
    pattern: text(17),
    maxItems: count(18),
    minItems: count(19),
    uniqueItems: flag(20),
    maxProperties: count(21),
    minProperties: count(22),
    required: list(text(23)),
    enum: list(any(24)),
    type: choice(isText, text(25), () => []),
    allOf: list(schemaOrReference(26)),
    oneOf: list(schemaOrReference(27)),
    anyOf: list(schemaOrReference(28)),
    not: message(29, () => schema),
    items: within(30, choice(isJsonObject, schemaOrReference(1), list(schemaOrReference(1)))),
    properties: within(31, map(1, schemaOrReference(2))),
    additionalProperties: within(32, choice(isJsonObject, schemaOrReference(1), chosenFlag(2))),
    default: defaultType,
    description: text(34),
    format: text(35),
  },
  extensions: 36,
}

const mediaType: Message = {
  fields: { schema: schemaOrReference(1), example: any(2) },
  extensions: 5,
}

const content = (number: number): Field =>
  within(
    number,
    map(
      1,
      message(2, () => mediaType),
    ),
  )

const parameter: Message = {
  fields: {
    name: text(1),
    in: text(2),
    description: text(3),
    required: flag(4),
    deprecated: flag(5),
    allowEmptyValue: flag(6),
    style: text(7),
    explode: flag(8),
    allowReserved: flag(9),
    schema: schemaOrReference(10),
    example: any(11),
    content: content(13),
  },
  extensions: 14,
}

const parameters = (number: number): Field =>
  list(
    within(
      number,
      orReference(() => parameter),
    ),
  )

const requestBody: Message = {
  fields: { description: text(1), content: content(2), required: flag(3) },
  extensions: 4,
}

const response: Message = {
  fields: { description: text(1), content: content(3) },
  extensions: 5,
}
const responseOrReference = within(
  2,
  orReference(() => response),
)

const responses: Message = {
  fields: {
    default: within(
      1,
      orReference(() => response),
    ),
  },
  rest: map(2, responseOrReference),
  extensions: 3,
}

const operation: Message = {
  fields: {
    tags: list(text(1)),
    summary: text(2),
    description: text(3),
    externalDocs: message(4, () => externalDocs),
    operationId: text(5),
    parameters: parameters(6),
    requestBody: within(
      7,
      orReference(() => requestBody),
    ),
    responses: message(8, () => responses),
    deprecated: flag(10),
    security: security(11),
  },
  extensions: 13,
}

const pathItem: Message = {
  fields: {
    $ref: text(1),
    summary: text(2),
    description: text(3),
    get: message(4, () => operation),
    put: message(5, () => operation),
    post: message(6, () => operation),
    delete: message(7, () => operation),
    options: message(8, () => operation),
    head: message(9, () => operation),
    patch: message(10, () => operation),
    trace: message(11, () => operation),
    parameters: parameters(13),
  },
  extensions: 14,
}

const securityScheme: Message = {
  fields: { type: text(1), description: text(2), name: text(3), in: text(4), scheme: text(5) },
  extensions: 9,
}

const components: Message = {
  fields: {
    schemas: within(1, map(1, schemaOrReference(2))),
    securitySchemes: within(
      7,
      map(
        1,
        within(
          2,
          orReference(() => securityScheme),
        ),
      ),
    ),
  },
  extensions: 10,
}

const document: Message = {
  fields: {
    openapi: text(1),
    info: message(2, () => ({
      fields: { title: text(1), description: text(2), termsOfService: text(3), version: text(6) },
      extensions: 7,
    })),
    paths: message(4, () => ({
      fields: {},
      rest: map(
        1,
        message(2, () => pathItem),
      ),
      extensions: 2,
    })),
    components: message(5, () => components),
    security: security(6),
  },
  extensions: 9,
}

/** The bytes of openapi.v3.Document. */
export const encodeOpenApiV3 = (value: JsonObject, yaml: ToYaml): Buffer =>
  encodeDocument(document, value, yaml)
