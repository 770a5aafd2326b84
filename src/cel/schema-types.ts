/** CEL types of what a schema describes (apiserver, pkg/cel/common/schemas.go). */
import { oncePerObject } from '#async/once.js'
import { mapValues } from '#json/entries.js'
import { getOwn } from '#json/object.js'
import type { JsonValue } from '#json/value.js'
import { limits } from '#limits'
import type { Fields } from './environment.js'
import { listOf, mapOf, structType, type Type, types } from './types.js'

/** What of a schema, of a custom resource or of OpenAPI, makes the type of an expression. */
export interface CelSchema {
  readonly type?: string
  readonly format?: string
  readonly default?: JsonValue
  readonly enum?: readonly JsonValue[]
  readonly maxLength?: number
  readonly maxItems?: number
  readonly maxProperties?: number
  readonly required?: readonly string[]
  readonly items?: CelSchema
  readonly properties?: Readonly<Record<string, CelSchema>>
  readonly additionalProperties?: boolean | CelSchema
  readonly 'x-kubernetes-int-or-string'?: boolean
  readonly 'x-kubernetes-embedded-resource'?: boolean
}

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
export const reserved = new Set(
  'true false null in as break const continue else for function if import let loop package namespace return var void while'.split(
    ' ',
  ),
)

/** A property's name in CEL, or undefined when no expression can reach it. */
export const celName = (name: string): string | undefined => {
  if (reserved.has(name)) return `__${name}__`
  if (!/^[A-Za-z_.\-/][A-Za-z0-9_.\-/]*$/.test(name)) return undefined
  return name
    .replace(/__/g, '__underscores__')
    .replace(/\./g, '__dot__')
    .replace(/-/g, '__dash__')
    .replace(/\//g, '__slash__')
}

const escapes: Readonly<Record<string, string>> = {
  underscores: '__',
  dot: '.',
  dash: '-',
  slash: '/',
}

/** The property that a name in CEL means; undefined if it is escaped in a way that nobody knows (apiserver, cel.Unescape). */
export const propertyName = (name: string): string | undefined => {
  let isKnown = true
  const plain = name.replace(/__([^_]+)__/g, (all, word: string) => {
    isKnown &&= reserved.has(word) ? all === name : Object.hasOwn(escapes, word)
    return escapes[word] ?? word
  })
  return isKnown ? plain : undefined
}

const requestBytes = limits.requestBodyBytesMax
const quotedRequest = requestBytes - 2

const simple = (type: Type, sizeMax: number, bytesMin: number): DeclaredType => ({
  type,
  sizeMax,
  bytesMin,
})

/** Characters may take four bytes each. */
const lengthMax = ({ maxLength }: CelSchema): number | undefined =>
  maxLength === undefined ? undefined : Math.max(maxLength, 0) * 4

const declareString = (schema: CelSchema): DeclaredType => {
  const { format, maxLength, enum: values = [] } = schema
  if (format === 'byte')
    return simple(types.bytes, maxLength === undefined ? quotedRequest : Math.max(maxLength, 0), 2)
  if (format === 'duration') return simple(types.duration, 32, 3)
  if (format === 'date') return simple(types.timestamp, 12, 12)
  if (format === 'date-time') return simple(types.timestamp, 32, 21)
  let longest = 0
  for (const value of values)
    if (typeof value === 'string') longest = Math.max(longest, Buffer.byteLength(value))
  return simple(types.string, lengthMax(schema) ?? (values.length > 0 ? longest : quotedRequest), 2)
}

const declareArray = ({ items, maxItems }: CelSchema, name: string): DeclaredType | undefined => {
  const item = items && declareType(items, `${name}.@idx`, isEmbedded(items))
  if (item === undefined) return undefined
  const most = Math.floor(quotedRequest / (item.bytesMin + 1))
  const sizeMax = maxItems === undefined ? most : Math.max(maxItems, 0)
  return { type: listOf(item.type), sizeMax, bytesMin: 2, items: item }
}

const declareMap = (
  values: CelSchema,
  { maxProperties }: CelSchema,
  name: string,
): DeclaredType | undefined => {
  const value = declareType(values, `${name}.@elem`, isEmbedded(values))
  if (value === undefined) return undefined
  const most = Math.floor(quotedRequest / (value.bytesMin + 6))
  const sizeMax = maxProperties === undefined ? most : Math.max(maxProperties, 0)
  const keys = simple(types.string, 0, 2)
  return { type: mapOf(types.string, value.type), sizeMax, bytesMin: 2, items: value, keys }
}

export const isEmbedded = (schema: CelSchema): boolean =>
  schema['x-kubernetes-embedded-resource'] === true

/** Rules see the name and generateName of a resource, and nothing else of its metadata. */
const resourceProperties: Readonly<Record<string, CelSchema>> = {
  apiVersion: { type: 'string' },
  kind: { type: 'string' },
  metadata: {
    type: 'object',
    properties: { name: { type: 'string' }, generateName: { type: 'string' } },
  },
}

/** Whether the metadata is told in full, as in schemas of built-in kinds; those of custom resources cannot. */
const tellsMetadata = (properties: Readonly<Record<string, CelSchema>> = {}): boolean => {
  const isString = (schema: CelSchema | undefined) => schema?.type === 'string'
  const { apiVersion, kind, metadata } = properties
  const told = metadata?.properties
  return (
    isString(apiVersion) && isString(kind) && isString(told?.name) && isString(told?.generateName)
  )
}

export const propertiesOf = <S extends CelSchema>(
  { properties }: { readonly properties?: Readonly<Record<string, S>> },
  isResource: boolean,
): Readonly<Record<string, S>> =>
  isResource && !tellsMetadata(properties)
    ? { ...properties, ...(resourceProperties as Readonly<Record<string, S>>) }
    : (properties ?? {})

const declareObject = (schema: CelSchema, name: string, isResource: boolean): DeclaredType => {
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

/** Built-in types say it by their format. */
const isIntOrString = (schema: CelSchema): boolean =>
  schema['x-kubernetes-int-or-string'] === true || schema.format === 'int-or-string'

/** Undefined for what expressions cannot see. */
export const declareType = (
  schema: CelSchema,
  name: string,
  isResource: boolean,
): DeclaredType | undefined => {
  if (isIntOrString(schema)) return simple(types.dyn, lengthMax(schema) ?? quotedRequest, 1)
  if (schema.type === 'array') return declareArray(schema, name)
  if (schema.type === 'object') {
    const values = schema.additionalProperties
    return typeof values !== 'object' || isResource
      ? declareObject(schema, name, isResource)
      : declareMap(values, schema, name)
  }
  if (schema.type === 'string') return declareString(schema)
  if (schema.type === 'boolean') return simple(types.bool, 0, 4)
  if (schema.type === 'number') return simple(types.double, 0, 1)
  return schema.type === 'integer' ? simple(types.int, 0, 1) : undefined
}

/** Whether expressions see it. */
export const isDeclared = oncePerObject((schema: CelSchema): boolean => {
  if (isIntOrString(schema) || isEmbedded(schema)) return true
  const { type = '', items, additionalProperties: values } = schema
  if (type === 'array') return items !== undefined && isDeclared(items)
  if (type === 'object') return typeof values !== 'object' || isDeclared(values)
  return ['string', 'boolean', 'number', 'integer'].includes(type)
})

const addStructs = (declared: DeclaredType, into: Record<string, Fields>): void => {
  if (declared.items !== undefined) addStructs(declared.items, into)
  if (declared.fields === undefined) return
  into[declared.type.name] = mapValues(declared.fields, ({ type }) => type)
  for (const field of Object.values(declared.fields)) addStructs(field, into)
}

/** The types with fields that are in a declared one, itself included. */
export const structsOf = (declared: DeclaredType): Readonly<Record<string, Fields>> => {
  const structs: Record<string, Fields> = {}
  addStructs(declared, structs)
  return structs
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
