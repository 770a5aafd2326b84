import fc from 'fast-check'
import t from 'tap'
import { stringify } from '#json/json.js'
import type { JsonObject, JsonValue } from '#json/value.js'
import { goTypeName } from '#openapi/schemas.js'
import { type GoType, goFieldsOf } from '#registry/decode/go-type.js'
import { decodeObject } from '#registry/decode.js'
import { evaluate, table } from './evaluate.js'

const rows = [...table].filter((row) => row.verbs.includes('create') && row.schemaName)

const text = fc.oneof(fc.string({ maxLength: 6 }), fc.constantFrom('a', '__proto__', '1', '<&>'))
const quantity = fc.constantFrom('1', '100m', '1.5Gi', '0', '1e3')

/** Values of a Go type, well-formed but senseless; deep parts are left out. */
const valuesOf = (type: GoType, depth: number): fc.Arbitrary<unknown> => {
  switch (type.form) {
    case 'scalar':
      if (type.scalar === 'string') return text
      if (type.scalar === 'bool') return fc.boolean()
      if (type.scalar === 'float64') return fc.double({ noNaN: true, noDefaultInfinity: true })
      if (type.scalar === 'int32') return fc.integer()
      return fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n })
    case 'bytes':
      return fc.uint8Array({ maxLength: 5 }).map((bytes) => Buffer.from(bytes).toString('base64'))
    case 'slice':
      return fc.array(valuesOf(type.item, depth - 1), { maxLength: 2 })
    case 'map':
      return fc
        .array(fc.tuple(text, valuesOf(type.value, depth - 1)), { maxLength: 2 })
        .map((entries) => Object.fromEntries(entries))
    case 'struct':
      return depth <= 0 ? fc.constant({}) : structOf(type.key, depth - 1)
    default:
      return customOf(type.custom)
  }
}

const customOf = (custom: string): fc.Arbitrary<unknown> => {
  if (custom === 'Time') return fc.constantFrom('2020-01-01T00:00:00Z', null)
  if (custom === 'MicroTime') return fc.constantFrom('2020-01-01T00:00:00.000001Z', null)
  if (custom === 'Quantity') return quantity
  if (custom === 'IntOrString') return fc.oneof(fc.integer(), text)
  if (custom === 'Duration') return fc.constant('1s')
  if (custom === 'SchemaOrBool') return fc.boolean()
  return fc.constant({})
}

const structOf = (key: string, depth: number): fc.Arbitrary<JsonObject> =>
  fc.record(
    Object.fromEntries(
      goFieldsOf(key)
        .filter((field) => field.name !== 'kind' && field.name !== 'apiVersion')
        .map((field) => [field.name, fc.option(valuesOf(field.type, depth), { freq: 4 })]),
    ) as Record<string, fc.Arbitrary<JsonValue>>,
    { requiredKeys: [] },
  ) as fc.Arbitrary<JsonObject>

const write = (value: unknown): string => stringify(value)

t.test('what was decoded once is decoded to the same again, whatever it is', async (t) => {
  for (const definition of rows) {
    const key = goTypeName(definition.schemaName!)
    fc.assert(
      fc.property(structOf(key, 3), (body) => {
        const once = decodeObject({ ...definition, strategy: {} }, body)
        const again = decodeObject({ ...definition, strategy: {} }, once.object)
        if (write(once.object) !== write(again.object) || again.strictErrors.length > 0)
          throw new Error(`${write(once.object)}\n${write(again.object)}`)
      }),
      { numRuns: 12 },
    )
    t.pass(definition.gvk.kind)
  }
})

/** Every part of a sample in every way that it can be wrong. */
const faultsOf = (value: JsonValue): JsonValue[] => {
  const wrong: JsonValue[] = [null, 1, 'x', true, [], {}, -1, '', [null], { a: null }]
  if (typeof value !== 'object' || value === null) return wrong
  if (Array.isArray(value))
    return [...wrong, ...value.flatMap((item, i) => faultsOf(item).map((f) => value.with(i, f)))]
  return [
    ...wrong,
    ...Object.keys(value).flatMap((key) => {
      const { [key]: inner, ...rest } = value
      return [rest, ...faultsOf(inner!).map((fault) => ({ ...value, [key]: fault }))]
    }),
  ]
}

t.test('no sample with one fault makes the server fail', async (t) => {
  const { kinds } = await import('#kinds/index.js')
  for (const { group, version, kind, sample } of kinds) {
    const definition = table.byKind({ group, version, kind })!
    if (!definition.verbs.includes('create')) continue
    const good = evaluate(definition, write(sample))
    t.equal(good.code, 201, `${kind}: ${good.message}`)
    // The whole stored form has more places to break than the sample.
    for (const body of [sample, good.object ?? sample])
      for (const fault of faultsOf(body)) {
        if (typeof fault !== 'object' || fault === null || Array.isArray(fault)) continue
        let code: number | string
        try {
          code = evaluate(definition, write(fault)).code
        } catch (error) {
          code = `${(error as Error).stack}`
        }
        if (typeof code === 'string' || code >= 500)
          t.fail(`${kind} ${write(fault).slice(0, 600)}: ${code}`)
      }
  }
})
