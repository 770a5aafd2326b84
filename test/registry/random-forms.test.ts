/**
 * Random objects of every kind, with whatever their types can hold: they come back from protobuf as they were, and go
 * there again as the same bytes.
 */
import t from 'tap'
import { formatGroupVersion } from '#api/group-version.js'
import type { KubeObject } from '#api/object.js'
import { mapValues } from '#json/entries.js'
import { cloneJson, isJsonObject } from '#json/object.js'
import type { JsonObject, JsonValue } from '#json/value.js'
import { kinds } from '#kinds/index.js'
import { goTypeName } from '#openapi/schemas.js'
import { type CustomType, type GoType, goFieldsOf } from '#registry/decode/go-type.js'
import { protobufToJson } from '#registry/decode/protobuf.js'
import { decodeType } from '#registry/decode.js'
import { makeResourceTable } from '#registry/resource-table.js'
import { inProtobuf } from '#routes/answers/protobuf.js'
import { seededRandom } from '../seeded-random.js'

const random = seededRandom(36)
const pick = <T>(from: readonly T[]): T => from[Math.floor(random() * from.length)]!

const texts = ['', 'a', 'é', '\0', '\ufffd', '😀', '__proto__', 'constructor', '<&>\u2028', '"\\\n']
const keys = ['a', 'b', 'é', '😀', '\uffff', 'constructor', '__proto__', '']
const days = ['2020-01-01', '1970-01-01', '0001-01-01', '9999-12-31', '0000-02-29', '1582-10-15']
const scalars: Readonly<Record<string, readonly JsonValue[]>> = {
  string: texts,
  bool: [true, false],
  int32: [0, 1, -1, 2 ** 31 - 1, -(2 ** 31)],
  int64: [0, -1, 2 ** 53 - 1, 2n ** 53n, 2n ** 63n - 1n, -(2n ** 63n)],
  float64: [0, 1.5, -0.25, 1e300, 5e-324, 3],
}
const customs: Readonly<Record<CustomType, readonly JsonValue[]>> = {
  Time: days.map((day) => `${day}T23:59:59Z`),
  MicroTime: days.flatMap((day) => [`${day}T00:00:00.000001Z`, `${day}T23:59:59.999999Z`]),
  Quantity: ['0', '1Gi', '0.5', '100m', '1e3', '-1', '1n', '9223372036854775807', 5, 1.5],
  IntOrString: [0, 1, -1, '', '50%', 'a'],
  Raw: [{}, { a: 1 }, { 'f:a': {} }, { a: { b: [1, { c: null }] } }],
  SchemaOrBool: [true, false, { type: 'string' }, {}],
  SchemaOrArray: [{ type: 'a' }, [{ type: 'b' }, {}]],
  SchemaOrStringArray: [['a', 'b'], { type: 'x' }],
}

const randomOf = (type: GoType, depth: number): JsonValue => {
  const few = <T>(make: () => T): T[] =>
    depth <= 0 ? [] : random() < 0.5 ? [make()] : [make(), make()]
  switch (type.form) {
    case 'scalar':
      return pick(scalars[type.scalar]!)
    case 'bytes':
      return pick(['', 'AA==', '/+8='])
    case 'custom':
      return cloneJson(pick(customs[type.custom]))
    case 'struct':
      return objectOf(type.key, depth - 1)
    case 'slice':
      return few(() => randomOf(type.item, depth - 1))
    default:
      return Object.fromEntries(few(() => [pick(keys), randomOf(type.value, depth - 1)]))
  }
}

const objectOf = (key: string, depth: number): JsonObject =>
  Object.fromEntries(
    goFieldsOf(key)
      .filter(() => random() < (depth > 0 ? 0.45 : 0.1))
      .map(({ name, type }) => [name, randomOf(type, depth)]),
  )

/** What protobuf does not tell: empty from missing, and the kinds of templates within an object. */
const told = (value: JsonValue): JsonValue => {
  if (Array.isArray(value)) return value.length === 0 ? null : value.map(told)
  if (!isJsonObject(value)) return value
  const { volumeClaimTemplates: templates, ...rest } = value
  const bare = (template: JsonValue) => ({ ...(template as JsonObject), kind: '', apiVersion: '' })
  const all = Array.isArray(templates)
    ? { ...rest, volumeClaimTemplates: templates.map(bare) }
    : value
  return Object.keys(all).length === 0 ? null : mapValues(all, told)
}

t.test('random objects of every kind come back from protobuf as they were', (t) => {
  for (const { schemaName, gvk } of makeResourceTable(kinds)) {
    if (schemaName === undefined) continue
    const type = { apiVersion: formatGroupVersion(gvk), kind: gvk.kind }
    const decode = (value: JsonObject): KubeObject =>
      ({ ...decodeType(schemaName, value).value, ...type }) as unknown as KubeObject
    for (let round = 0; round < 20; round++) {
      const object = decode(objectOf(goTypeName(schemaName), 5))
      const bytes = inProtobuf(object)
      const back = decode(protobufToJson(bytes, schemaName))
      t.same(told(back as unknown as JsonObject), told(object as unknown as JsonObject), gvk.kind)
      t.ok(inProtobuf(back).equals(bytes), gvk.kind)
    }
  }
  t.end()
})
