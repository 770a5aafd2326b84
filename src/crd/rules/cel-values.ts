/** CEL values of what a structural schema describes (apiserver, pkg/cel/common/values.go). */

import { type FieldReader, fromJson, ObjectMap } from '#cel/json-values.js'
import { isEmbedded, propertiesOf } from '#cel/schema-types.js'
import { parseDate, parseTimestamp } from '#cel/times.js'
import { asTyped, CelError, type CelValue, withListKind } from '#cel/values.js'
import { getOwn, isJsonObject } from '#json/object.js'
import type { JsonValue } from '#json/value.js'
import { goTypeOf } from '#registry/go-print.js'
import { parseFormatDuration } from '../duration-format.js'
import { type StructuralSchema, valueSchemaOf } from '../structural-schema.js'
import { DeclaredObject } from './declared-object.js'
import { listKindOf } from './unordered-lists.js'

/** What an update may keep though its schema says otherwise, no rule can look at. */
const misfit = (wanted: string, value: JsonValue): never => {
  throw new CelError(`invalid data, expected ${wanted}, got ${goTypeOf(value)}`)
}

const isInteger = (value: JsonValue): value is number | bigint =>
  typeof value === 'bigint' || Number.isSafeInteger(value)

const intOrString = (value: JsonValue): CelValue => {
  if (typeof value === 'string') return value
  if (isInteger(value)) return BigInt(value)
  throw new CelError('invalid data, expected XIntOrString value to be either a string or integer')
}

const scalar = (value: JsonValue, schema: StructuralSchema): CelValue => {
  switch (schema.type) {
    case 'object':
      throw new CelError('invalid data, expected a map for the provided schema with type=object')
    case 'array':
      throw new CelError('invalid data, expected an array for the provided schema with type=array')
    case 'number':
      return typeof value === 'number' || typeof value === 'bigint'
        ? Number(value)
        : misfit('float', value)
    case 'integer':
      return isInteger(value) ? BigInt(value) : misfit('int', value)
    case 'boolean':
      return typeof value === 'boolean' ? value : misfit('bool', value)
    case 'string':
      return typeof value === 'string' ? text(value, schema.format) : misfit('string', value)
    default:
      return fromJson(value)
  }
}

const text = (value: string, format: string | undefined): CelValue => {
  if (format === 'date') return parseDate(value) ?? value
  if (format === 'date-time') return parseTimestamp(value) ?? value
  if (format === 'duration') return parseFormatDuration(value) ?? value
  return format === 'byte' ? Buffer.from(value, 'base64') : value
}

/** An item that does not fit its schema is an error only when a rule looks at it; until then it stays as it is. */
const celItem = (value: JsonValue, schema: StructuralSchema): CelValue => {
  try {
    return celValue(value, schema, isEmbedded(schema))
  } catch (error) {
    if (error instanceof CelError) return fromJson(value)
    throw error
  }
}

const isOfType = (schema: StructuralSchema, type: 'array' | 'object'): boolean =>
  schema.type === type || (schema.type ?? '') === ''

/**
 * A JSON value as CEL sees it under its schema: dates are timestamps, unknown fields are hidden. Throws CelError where it
 * does not fit; what is inside an object is looked at when a rule does.
 */
export const celValue = (
  value: JsonValue,
  schema: StructuralSchema,
  isResource: boolean,
): CelValue => {
  if (value === null) return null
  if (schema['x-kubernetes-int-or-string'] === true) return intOrString(value)
  if (Array.isArray(value) && isOfType(schema, 'array')) {
    const { items = {} } = schema
    const list = value.map((item) => celItem(item, items))
    return asTyped(withListKind(list, listKindOf(value, schema)))
  }
  if (!isJsonObject(value) || !isOfType(schema, 'object')) return scalar(value, schema)
  const values = valueSchemaOf(schema)
  if (values !== undefined && !isResource)
    return asTyped(
      new ObjectMap(value, (_key, inner) => celValue(inner, values, isEmbedded(values))),
    )
  const properties = propertiesOf(schema, isResource)
  const read: FieldReader = (key, inner) => {
    const property = getOwn(properties, key)
    return property && celValue(inner, property, isEmbedded(property))
  }
  return asTyped(new DeclaredObject(value, properties, read))
}
