/** CEL types and values of what a structural schema describes (apiserver, pkg/cel/common/schemas.go). */
import { getOwn, isJsonObject } from '#api/json-object.js'
import type { JsonValue } from '#api/object.js'
import { Environment, type Fields } from '#cel/environment.js'
import { fromJson, ObjectMap } from '#cel/json-values.js'
import { parseDate, parseDuration, parseTimestamp } from '#cel/times.js'
import { listOf, mapOf, structType, type Type, types } from '#cel/types.js'
import { CelError, type CelValue, type ListKind, withListKind } from '#cel/values.js'
import { limits } from '#limits'
import { goTypeOf } from '#registry/patch/go-print.js'
import { type StructuralSchema, valueSchemaOf } from '../structural-schema.js'

/** A type with what bounds the data of it. */
export interface DeclaredType {
  readonly type: Type
  /** Most characters, items or properties; 0 for what has none. */
  readonly sizeMax: number
  /** Fewest bytes in JSON. */
  readonly bytesMin: number
  readonly fields?: Readonly<Record<string, DeclaredType>>
  readonly items?: DeclaredType
  readonly keys?: DeclaredType
}

// Names that CEL reserves; a field of that name is reached as `__name__`.
const reserved = new Set(
  'true false null in as break const continue else for function if import let loop package namespace return var void while'.split(
    ' ',
  ),
)

/** A property's name in CEL, or undefined when no expression can reach it. */
const celName = (name: string): string | undefined => {
  if (reserved.has(name)) return `__${name}__`
  if (!/^[A-Za-z_.\-/][A-Za-z0-9_.\-/]*$/.test(name)) return undefined
  return name
    .replace(/__/g, '__underscores__')
    .replace(/\./g, '__dot__')
    .replace(/-/g, '__dash__')
    .replace(/\//g, '__slash__')
}

const requestBytes = limits.requestBodyBytesMax
const quotedRequest = requestBytes - 2

const simple = (type: Type, sizeMax: number, bytesMin: number): DeclaredType => ({
  type,
  sizeMax,
  bytesMin,
})

/** Characters may take four bytes each. */
const lengthMax = ({ maxLength }: StructuralSchema): number | undefined =>
  maxLength === undefined ? undefined : Math.max(maxLength, 0) * 4

const declareString = (schema: StructuralSchema): DeclaredType => {
  const { format, maxLength, enum: values = [] } = schema
  if (format === 'byte')
    return simple(types.bytes, maxLength === undefined ? quotedRequest : Math.max(maxLength, 0), 2)
  if (format === 'duration') return simple(types.duration, 32, 3)
  if (format === 'date') return simple(types.timestamp, 12, 12)
  if (format === 'date-time') return simple(types.timestamp, 32, 21)
  const longest = Math.max(
    0,
    ...values.map((v) => (typeof v === 'string' ? Buffer.byteLength(v) : 0)),
  )
  return simple(types.string, lengthMax(schema) ?? (values.length > 0 ? longest : quotedRequest), 2)
}

const declareArray = (
  { items, maxItems }: StructuralSchema,
  name: string,
): DeclaredType | undefined => {
  const item = items && declareType(items, `${name}.@idx`, isEmbedded(items))
  if (item === undefined) return undefined
  const most = Math.floor(quotedRequest / (item.bytesMin + 1))
  const sizeMax = maxItems === undefined ? most : Math.max(maxItems, 0)
  return { type: listOf(item.type), sizeMax, bytesMin: 2, items: item }
}

const declareMap = (
  values: StructuralSchema,
  { maxProperties }: StructuralSchema,
  name: string,
): DeclaredType | undefined => {
  const value = declareType(values, `${name}.@elem`, isEmbedded(values))
  if (value === undefined) return undefined
  const most = Math.floor(quotedRequest / (value.bytesMin + 6))
  const sizeMax = maxProperties === undefined ? most : Math.max(maxProperties, 0)
  const keys = simple(types.string, 0, 2)
  return { type: mapOf(types.string, value.type), sizeMax, bytesMin: 2, items: value, keys }
}

const isEmbedded = (schema: StructuralSchema): boolean =>
  schema['x-kubernetes-embedded-resource'] === true

/** Rules see the name and generateName of a resource, and nothing else of its metadata. */
const resourceProperties: Readonly<Record<string, StructuralSchema>> = {
  apiVersion: { type: 'string' },
  kind: { type: 'string' },
  metadata: {
    type: 'object',
    properties: { name: { type: 'string' }, generateName: { type: 'string' } },
  },
}

const propertiesOf = (
  schema: StructuralSchema,
  isResource: boolean,
): Readonly<Record<string, StructuralSchema>> =>
  isResource ? { ...schema.properties, ...resourceProperties } : (schema.properties ?? {})

const declareObject = (
  schema: StructuralSchema,
  name: string,
  isResource: boolean,
): DeclaredType => {
  const fields: Record<string, DeclaredType> = {}
  let bytesMin = 2
  for (const [key, property] of Object.entries(propertiesOf(schema, isResource))) {
    const field = celName(key)
    const declared = declareType(property, `${name}.${field ?? key}`, isEmbedded(property))
    if (declared === undefined) continue
    if (field !== undefined) fields[field] = declared
    // Where the parser takes a reserved word after a dot, it is the field.
    if (reserved.has(key)) fields[key] = declared
    const isAlways = schema.required?.includes(key) === true && property.default === undefined
    if (isAlways) bytesMin += Buffer.byteLength(key) + declared.bytesMin + 4
  }
  return { type: structType(name), sizeMax: 0, bytesMin, fields }
}

/** Undefined for what expressions cannot see. */
export const declareType = (
  schema: StructuralSchema,
  name: string,
  isResource: boolean,
): DeclaredType | undefined => {
  if (schema['x-kubernetes-int-or-string'] === true)
    return simple(types.dyn, lengthMax(schema) ?? quotedRequest, 1)
  if (schema.type === 'array') return declareArray(schema, name)
  if (schema.type === 'object') {
    const values = valueSchemaOf(schema)
    return values === undefined || isResource
      ? declareObject(schema, name, isResource)
      : declareMap(values, schema, name)
  }
  if (schema.type === 'string') return declareString(schema)
  if (schema.type === 'boolean') return simple(types.bool, 0, 4)
  if (schema.type === 'number') return simple(types.double, 0, 1)
  return schema.type === 'integer' ? simple(types.int, 0, 1) : undefined
}

const structsIn = (declared: DeclaredType, into: Record<string, Fields>): void => {
  if (declared.items !== undefined) structsIn(declared.items, into)
  if (declared.fields === undefined) return
  into[declared.type.name] = Object.fromEntries(
    Object.entries(declared.fields).map(([name, field]) => [name, field.type]),
  )
  for (const field of Object.values(declared.fields)) structsIn(field, into)
}

/** An environment that knows the types inside of a declared one. */
export const environmentOf = (declared: DeclaredType): Environment => {
  const structs: Record<string, Fields> = {}
  structsIn(declared, structs)
  return Environment.base.withTypes(structs)
}

/** The most that can be at a path below the declared type; its first step is a variable. */
export const sizeAt = (
  root: DeclaredType,
  path: readonly string[],
): { min: bigint; max: bigint } | undefined => {
  let at: DeclaredType | undefined = root
  for (const step of path.slice(1)) {
    if (step === '@items' || step === '@values') at = at.items
    else if (step === '@keys') at = at.keys
    else at = getOwn(at.fields, step)
    if (at === undefined) return undefined
  }
  return { min: 0n, max: BigInt(at.sizeMax) }
}

/** What an update may keep though its schema says otherwise, no rule can look at. */
const misfit = (wanted: string, value: JsonValue): never => {
  throw new CelError(`invalid data, expected ${wanted}, got ${goTypeOf(value)}`)
}

const isInteger = (value: JsonValue): value is number | bigint =>
  typeof value === 'bigint' || Number.isSafeInteger(value)

const scalar = (value: JsonValue, schema: StructuralSchema): CelValue => {
  if (value === null) return null
  if (schema['x-kubernetes-int-or-string'] === true) {
    if (typeof value === 'string') return value
    if (isInteger(value)) return BigInt(value)
    throw new CelError('invalid data, expected XIntOrString value to be either a string or integer')
  }
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
  if (format === 'duration') return parseDuration(value) ?? value
  return format === 'byte' ? Buffer.from(value, 'base64') : value
}

/** Of items that do not fit their schema nobody is told before a rule looks at them; here they are as they are. */
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

/** How the items of a list are told apart; undefined for lists whose order counts. */
const kindOf = (schema: StructuralSchema): ListKind | undefined => {
  const type = schema['x-kubernetes-list-type']
  if (type === 'set') return { keys: [] }
  return type === 'map'
    ? { keys: (schema['x-kubernetes-list-map-keys'] ?? []).map((key) => celName(key) ?? key) }
    : undefined
}

/**
 * A JSON value as CEL sees it under its schema: dates are timestamps, unknown fields are hidden. Throws CelError where it
 * does not fit; what is inside of an object is looked at when a rule does.
 */
export const celValue = (
  value: JsonValue,
  schema: StructuralSchema,
  isResource: boolean,
): CelValue => {
  if (Array.isArray(value) && isOfType(schema, 'array')) {
    const { items = {} } = schema
    const list = value.map((item) => celItem(item, items))
    return withListKind(list, kindOf(schema))
  }
  if (!isJsonObject(value) || !isOfType(schema, 'object')) return scalar(value, schema)
  const values = valueSchemaOf(schema)
  if (values !== undefined && !isResource)
    return new ObjectMap(value, (_key, inner) => celValue(inner, values, isEmbedded(values)))
  const properties = propertiesOf(schema, isResource)
  const named: Record<string, JsonValue> = {}
  for (const [key, inner] of Object.entries(value)) {
    const name = getOwn(properties, key) === undefined ? undefined : celName(key)
    if (name !== undefined) named[name] = inner
    if (name !== undefined && reserved.has(key)) named[key] = inner
  }
  const schemas = new Map(
    Object.entries(properties).flatMap(([key, property]) => [
      [celName(key), property] as const,
      [key, property] as const,
    ]),
  )
  return new ObjectMap(named, (name, inner) => {
    const property = schemas.get(name)!
    return celValue(inner, property, isEmbedded(property))
  })
}
