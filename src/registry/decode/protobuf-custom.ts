/** The messages of types that read their own JSON: their fields, and what they are as JSON. */
import { oncePer } from '#async/once.js'
import { JsonSyntaxError, parseWithTrace } from '#json/json.js'
import type { JsonObject, JsonValue } from '#json/value.js'
import { noteNumbers } from '#json/written-numbers.js'
import { schemaNames } from '#openapi/schemas.js'
import { type CustomType, fieldsOfLines } from './go-type.js'
import { planOfFields } from './message-plan.js'
import { ProtobufError } from './protobuf-reader.js'

const schema = `*#${schemaNames.jsonSchemaProps}`

// As in openapi/data/go-fields.json.
const timestamp = ['seconds|int64||1v', 'nanos|int32||2v']
const lines: Readonly<Record<CustomType, readonly string[]>> = {
  IntOrString: ['type|int64||1v', 'intVal|int32||2v', 'strVal|string||3'],
  MicroTime: timestamp,
  Quantity: ['string String_|string||1'],
  Raw: ['raw|string|e|1'],
  SchemaOrArray: [`schema|${schema}|e|1`, `jSONSchemas|[]${schema.slice(1)}|e|2`],
  SchemaOrBool: ['allows|bool||1v', `schema|${schema}|e|2`],
  SchemaOrStringArray: [`schema|${schema}|e|1`, 'property|[]string|e|2'],
  Time: timestamp,
}

export const customPlanOf = oncePer((custom: CustomType) =>
  planOfFields(fieldsOfLines(custom, lines[custom])),
)

/** The Go type of the message: both times are kept in one of another name. */
export const customMessageName = (custom: CustomType, goName: string): string =>
  custom === 'Time' || custom === 'MicroTime' ? 'Timestamp' : goName

/** Go's zero time, which is no time at all, like an empty message. */
const zeroTimeSeconds = -62_135_596_800
/** Behind it, JavaScript has no dates. */
const lastDateSeconds = 8.64e12

const timeOf = ({ seconds, nanos }: JsonObject, isMicro: boolean): JsonValue => {
  if (seconds === undefined && nanos === undefined) return null
  const given = isMicro ? Math.trunc(Number(nanos ?? 0) / 1000) : 0
  // More than a second of them, or less than none, moves the seconds.
  const carried = Math.floor(given / 1e6)
  const at = Number(seconds ?? 0) + carried
  const micros = given - carried * 1e6
  if (at === zeroTimeSeconds && micros === 0) return null
  const bounded = Math.min(Math.max(at, -lastDateSeconds), lastDateSeconds)
  const whole = new Date(bounded * 1000).toISOString().slice(0, -'.000Z'.length)
  return isMicro ? `${whole}.${String(micros).padStart(6, '0')}Z` : `${whole}Z`
}

const schemaOrItems = (schema: JsonValue | undefined, items: JsonValue | undefined): JsonValue =>
  schema ?? items ?? []

/** Upstream keeps what is no JSON, too, and then fails to show it to anybody. Owners of fields it then leaves out. */
const jsonOf = (text: string, goName: string): JsonValue => {
  try {
    const { value, trace } = parseWithTrace(text)
    if (trace !== undefined && goName === 'RawExtension') noteNumbers(trace)
    return value
  } catch (error) {
    if (!(error instanceof JsonSyntaxError)) throw error
    if (goName === 'FieldsV1') return text
    throw new ProtobufError(error.message)
  }
}

type CustomValue = (members: JsonObject, goName: string) => JsonValue

/** `members` are the fields that the message has. */
export const customValues: Readonly<Record<CustomType, CustomValue>> = {
  IntOrString: ({ type, intVal, strVal }) => (type === 1 ? (strVal ?? '') : (intVal ?? 0)),
  MicroTime: (members) => timeOf(members, true),
  Quantity: ({ string }) => string ?? '0',
  Raw: ({ raw }, goName) => (raw === undefined ? null : jsonOf(raw as string, goName)),
  SchemaOrArray: ({ schema, jSONSchemas }) => schemaOrItems(schema, jSONSchemas),
  SchemaOrBool: ({ allows, schema }) => schema ?? allows ?? false,
  SchemaOrStringArray: ({ schema, property }) => schemaOrItems(schema, property),
  Time: (members) => timeOf(members, false),
}
