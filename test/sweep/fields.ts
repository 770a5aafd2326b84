/** The fields of a type, what each may and may not hold, and objects in which one is changed. */
import type { Api, Schema } from './api-documents.js'

export type Path = readonly (string | number)[]

interface Field {
  readonly path: Path
  readonly schema: Schema
}

export interface Change {
  readonly path: Path
  readonly value: unknown
}

/** Of a list it is the first item; a type within itself is met once. */
export const fieldsOf = (api: Api, root: Schema): Field[] => {
  const walk = (schema: Schema, path: Path, within: readonly string[]): Field[] => {
    const here = path.length > 0 ? [{ path, schema }] : []
    const { type, typeName } = api.resolve(schema)
    if (typeName !== '' && within.includes(typeName)) return here
    const deeper = typeName === '' ? within : [...within, typeName]
    if (type.properties)
      return [
        ...here,
        ...Object.entries(type.properties)
          .filter(([name]) => path.length > 0 || (name !== 'apiVersion' && name !== 'kind'))
          .flatMap(([name, inner]) => walk(inner, [...path, name], deeper)),
      ]
    if (type.items && api.resolve(type.items).type.properties)
      return [...here, ...walk(type.items, [...path, 0], deeper)]
    return here
  }
  return walk(root, [], []).filter(({ path }) => path.join('.') !== 'metadata.managedFields')
}

const strings = [
  '',
  'UPPER x',
  '<&"\u2028\u0001',
  'a/b',
  'x'.repeat(300),
  'a.b-c',
  '-1',
  'a',
  '10.0.0.1',
  'constructor',
  null,
  5,
]
const integers = [-1, 0, 1, 70_000, 2 ** 31, '5', 1.5, null]
const times = ['2020-01-01T00:00:00Z', '2020-01-01T00:00:00.123456Z', 'x', null, 5]
const byTypeName: Readonly<Record<string, readonly unknown[]>> = {
  'io.k8s.apimachinery.pkg.api.resource.Quantity': '-1 1.5 abc 0 1e3 1500m'.split(' ').concat(''),
  'io.k8s.apimachinery.pkg.util.intstr.IntOrString': [
    '-1',
    'abc',
    '101%',
    '50%',
    0,
    -1,
    70_000,
    '',
  ],
}
const byType: Readonly<Record<string, readonly unknown[]>> = {
  string: strings,
  integer: integers,
  number: [-1, 0.5, 'x'],
  boolean: [true, false, 'true', null],
}

/** The least that a value of a type can be. */
const leastOf = (api: Api, schema: Schema, text: string): unknown => {
  const { type, typeName } = api.resolve(schema)
  if (typeName in byTypeName) return '1'
  if (type.enum) return type.enum[0]
  if (type.format === 'date-time') return times[0]
  if (type.type === 'string') return text
  if (type.type === 'integer' || type.type === 'number') return 1
  if (type.type === 'boolean') return true
  if (type.type === 'array') return []
  return Object.fromEntries(
    (type.required ?? []).map((name) => [name, leastOf(api, type.properties![name]!, text)]),
  )
}

/** One, another, both orders, twice the same, and with nothing among them. */
const listsOf = (a: unknown, b: unknown): unknown[] => [
  ...[[a], [a, a], [b], [a, b], [b, a], [a, b, a]],
  ...[[null], [a, null], [], null, {}, 'x', [[]]],
]

const mapsOf = (values: readonly unknown[]): unknown[] => [
  ...[{}, null, []],
  ...values.map((value) => ({ a: value })),
  ...['Bad Key', '', 'kubernetes.io/x', '__proto__', 'constructor'].map((key) => ({
    [key]: values[0],
  })),
  { b: values[0], a: values[0] },
]

export const valuesFor = (api: Api, schema: Schema): readonly unknown[] => {
  const { type, typeName } = api.resolve(schema)
  const known = byTypeName[typeName]
  if (known) return [...known, 2, null]
  if (type.format === 'date-time') return times
  if (type.enum) return ['', 'Bogus', '<&>', null, ...type.enum]
  if (type.items) {
    const items = type.items
    const { type: item } = api.resolve(items)
    if (item.properties)
      return [[{}], ...listsOf(leastOf(api, items, 'b'), leastOf(api, items, 'a'))]
    return item.type === 'integer'
      ? listsOf(1, -1)
      : [...listsOf('b', 'a'), ['', 'B c'], ['constructor']]
  }
  if (type.additionalProperties) {
    const { typeName: valueType } = api.resolve(type.additionalProperties)
    return mapsOf(byTypeName[valueType] ?? ['a', 'B c!', '', 5])
  }
  return byType[type.type ?? ''] ?? [{}, null, [], 'x', { unknown: 1 }]
}

/** A copy in which the field has the value, whatever stood on the way. */
export const withChange = (body: unknown, { path, value }: Change): unknown => {
  const [key, ...rest] = path
  if (key === undefined) return value
  const fits = Array.isArray(body) === (typeof key === 'number')
  const inner = typeof body === 'object' && body !== null && fits ? body : undefined
  const changed = withChange(inner?.[key as keyof typeof inner], { path: rest, value })
  if (typeof key === 'string') return { ...inner, [key]: changed }
  return Object.assign([...((inner as unknown[] | undefined) ?? [])], { [key]: changed })
}
