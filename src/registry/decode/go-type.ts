/** The Go types behind the API, as far as decoding needs them; read from openapi/data/go-fields.json when first met. */
import assert from 'node:assert'
import { oncePer } from '#async/once.js'
import { isJsonObject } from '#json/object.js'
import type { JsonValue } from '#json/value.js'
import { configurationFields, goFields, schemaNames, schemas } from '#openapi/schemas.js'

export type GoType =
  | { form: 'scalar'; name: string; scalar: 'string' | 'int32' | 'int64' | 'float64' | 'bool' }
  | { form: 'bytes'; name: string }
  | { form: 'slice'; name: string; item: GoType }
  | { form: 'map'; name: string; key: GoType; value: GoType }
  | { form: 'struct'; name: string; key: string }
  | { form: 'custom'; name: string; custom: CustomType }

/** Types that read their own JSON. */
export type CustomType =
  | 'IntOrString'
  | 'MicroTime'
  | 'Quantity'
  | 'Raw'
  | 'SchemaOrArray'
  | 'SchemaOrBool'
  | 'SchemaOrStringArray'
  | 'Time'

export interface GoField {
  readonly name: string
  /** Its name in Go, which errors of protobuf print. */
  readonly goName: string
  readonly type: GoType
  readonly pointer: boolean
  readonly omitEmpty: boolean
  readonly omitZero: boolean
  /** What defaulting writes in place of nothing or a zero value. */
  readonly default: string | number | boolean | undefined
  readonly protoNumber: number
  /** The Go struct that the field is embedded through, and the numbers on the way to it. */
  readonly embedded: { name: string; protoNumbers: readonly number[] } | undefined
}

const extensionsPrefix = 'io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.'
const customTypes: Readonly<Record<string, CustomType>> = {
  'meta.FieldsV1': 'Raw',
  'meta.MicroTime': 'MicroTime',
  'meta.Time': 'Time',
  'io.k8s.apimachinery.pkg.api.resource.Quantity': 'Quantity',
  'io.k8s.apimachinery.pkg.runtime.RawExtension': 'Raw',
  'io.k8s.apimachinery.pkg.util.intstr.IntOrString': 'IntOrString',
  [`${extensionsPrefix}JSON`]: 'Raw',
  [`${extensionsPrefix}JSONSchemaPropsOrArray`]: 'SchemaOrArray',
  [`${extensionsPrefix}JSONSchemaPropsOrBool`]: 'SchemaOrBool',
  [`${extensionsPrefix}JSONSchemaPropsOrStringArray`]: 'SchemaOrStringArray',
}

const scalars: Readonly<Record<string, 'string' | 'int32' | 'int64' | 'float64' | 'bool'>> = {
  string: 'string',
  int32: 'int32',
  int64: 'int64',
  float64: 'float64',
  bool: 'bool',
}

/** `v1.ObjectMeta` for `meta.ObjectMeta`, `v1.Pod` for `core.v1.Pod`: package and name, as Go prints a type. */
const printedName = (key: string): string =>
  key.startsWith('meta.') ? `v1.${key.slice(5)}` : key.split('.').slice(-2).join('.')

/** The struct of go-fields.json with this name, or the type that reads it by itself. */
export const goTypeOfKey = (key: string): GoType => {
  const custom = customTypes[key]
  if (custom !== undefined) return { form: 'custom', name: printedName(key), custom }
  return { form: 'struct', name: printedName(key), key }
}

/** Lists that Go names and protobuf makes messages of, with one repeated field. */
const listMessages = new Set(['v1.ExtraValue', 'v1.Verbs'])
export const isListMessage = ({ form, name }: GoType): boolean =>
  form === 'slice' && listMessages.has(name)

export const isQuantity = (type: GoType): boolean =>
  type.form === 'custom' && type.custom === 'Quantity'

/** Of raw JSON only this one is handed on as bytes. */
export const isWrittenAsGiven = ({ name }: GoType): boolean => name === 'runtime.RawExtension'

/** That of definitions is parsed: Go's maps write their keys in order. */
export const isParsedAnew = ({ name }: GoType): boolean => name === 'v1.JSON'

export const isPartOfSchema = (custom: CustomType): boolean => custom.startsWith('Schema')

/** The Go type that the reader of a part of a schema decodes this value into; undefined if it decodes nothing. */
export const schemaPartOf = (custom: CustomType, value: JsonValue): GoType | undefined => {
  if (!isPartOfSchema(custom)) return undefined
  if (isJsonObject(value)) return goTypeOfKey(schemaNames.jsonSchemaProps)
  if (!Array.isArray(value) || custom === 'SchemaOrBool') return undefined
  return parseType(custom === 'SchemaOrArray' ? `[]#${schemaNames.jsonSchemaProps}` : '[]string')
}

const parseType = (text: string): GoType => {
  if (text.startsWith('#')) return goTypeOfKey(text.slice(1))
  if (text === '[]byte') return { form: 'bytes', name: '[]uint8' }
  if (text.startsWith('[]')) {
    const item = parseType(text.slice(2))
    return { form: 'slice', name: `[]${item.name}`, item }
  }
  if (text.startsWith('map[')) {
    const end = text.indexOf(']')
    const key = parseType(text.slice(4, end))
    const value = parseType(text.slice(end + 1))
    return { form: 'map', name: `map[${key.name}]${value.name}`, key, value }
  }
  if (text.startsWith('{')) {
    const space = text.indexOf(' ')
    return { ...parseType(text.slice(space + 1, -1)), name: text.slice(1, space) }
  }
  const scalar = scalars[text]
  assert(scalar !== undefined, `unknown Go type ${text}`)
  return { form: 'scalar', name: text, scalar }
}

export const schemaNameOfKey = (key: string): string => {
  if (key.startsWith('io.')) return key
  return key.startsWith('meta.')
    ? `io.k8s.apimachinery.pkg.apis.meta.v1.${key.slice(5)}`
    : `io.k8s.api.${key}`
}

const defaultOf = (key: string, field: string, pointer: boolean): GoField['default'] => {
  const value = schemas()[schemaNameOfKey(key)]?.properties?.[field]?.default
  if (typeof value === 'boolean') return pointer || value ? value : undefined
  if (typeof value !== 'string' && typeof value !== 'number') return undefined
  // The zero of a plain field is no default, it is what Go has there anyway.
  return pointer || (value !== '' && value !== 0) ? value : undefined
}

const parseField = (key: string, line: string): GoField => {
  const [names = '', type = '', options = '', proto = '', embedded = ''] = line.split('|')
  const [name = '', goName = name.charAt(0).toUpperCase() + name.slice(1)] = names.split(' ')
  const pointer = type.startsWith('*')
  const [embeddedNumbers = '', embeddedName] = embedded.split(' ')
  return {
    name,
    goName,
    type: parseType(pointer ? type.slice(1) : type),
    pointer,
    omitEmpty: options.includes('e'),
    omitZero: options.includes('z'),
    default: defaultOf(key, name, pointer),
    protoNumber: Number.parseInt(proto, 10) || 0,
    embedded:
      embeddedName === undefined
        ? undefined
        : { name: embeddedName, protoNumbers: embeddedNumbers.split('.').map(Number) },
  }
}

export const fieldsOfLines = (key: string, lines: readonly string[]): readonly GoField[] =>
  lines.map((line) => parseField(key, line))

/** The fields of a struct, in Go's order. */
export const goFieldsOf = oncePer((key): readonly GoField[] => {
  const lines = goFields()[key] ?? configurationFields()[key]
  assert(lines !== undefined, `unknown Go struct ${key}`)
  return fieldsOfLines(key, lines)
})

export const hasGoFields = (key: string): boolean => Object.hasOwn(goFields(), key)

/** Finds the fields of a struct that are of such a type, or have one somewhere in them. */
export const fieldsHolding = (
  isSuch: (type: GoType) => boolean,
): ((key: string) => readonly GoField[]) => {
  const holds = (type: GoType, seen: Set<string>): boolean => {
    if (type.form === 'slice') return holds(type.item, seen)
    if (type.form === 'map') return holds(type.value, seen)
    if (type.form !== 'struct' || seen.has(type.key)) return isSuch(type)
    seen.add(type.key)
    return goFieldsOf(type.key).some((field) => holds(field.type, seen))
  }
  return oncePer((key) => goFieldsOf(key).filter(({ type }) => holds(type, new Set([key]))))
}
