/** Values as large as a request may be: each is judged in one walk, as nobody else is answered meanwhile. */
import t from 'tap'
import type { KubeObject } from '#api/object.js'
import { declareType } from '#cel/schema-types.js'
import { customTable } from '#crd/columns.js'
import { customStrategy } from '#crd/custom-strategy.js'
import type { CustomResourceDefinition, DefinitionVersion } from '#crd/definition/definition.js'
import { validateDefinition } from '#crd/definition/validate-definition.js'
import { makeRuleChecker } from '#crd/rules/check-rules.js'
import type { StructuralSchema, ValidationRule } from '#crd/structural-schema.js'
import { validateValue } from '#crd/validate-value.js'
import type { JsonObject } from '#json/value.js'
import { limits } from '#limits'
import type { RequestContext } from '#registry/resource-definition.js'

const numbers = (count: number): number[] => Array.from({ length: count }, (_none, i) => i)

t.test('a list that is wrong in every item', async (t) => {
  const count = 50_000
  const texts = { type: 'array', items: { type: 'string' } }
  const errors = validateValue(numbers(count), texts, 'l')
  const last = limits.fieldErrorsMax
  t.equal(errors.length, last + 1)
  t.match(errors.at(-1), { field: `l[${last}]`, body: /must be of type string: "integer"/ })
})

t.test('a list of very many values, of which each is one of very many', async (t) => {
  const count = 200_000
  const allowed = [...numbers(count), ...numbers(count).map(String)]
  const schema = { type: 'array', items: { 'x-kubernetes-int-or-string': true, enum: allowed } }
  t.same(validateValue(allowed.toReversed(), schema, 'l'), [])
})

t.test('very many values that are no texts, of which each is one of very many', async (t) => {
  const halves = numbers(100_000).map((i) => i + 0.5)
  const list = { type: 'array', items: { type: 'number', enum: halves } }
  t.same(validateValue(halves.toReversed(), list, 'l'), [])
  const pairs = numbers(20_000).map((i) => ({ a: i, b: [i] }))
  const objects = { type: 'array', items: { type: 'object', enum: pairs } }
  const turned = pairs.toReversed().map(({ a, b }) => ({ b, a }))
  t.same(validateValue(turned, objects, 'l'), [])
})

t.test('a list whose items lack very many fields is told of as far as anybody reads', async (t) => {
  const needed = numbers(300).map((i) => `f${i}`)
  const schema = { type: 'array', items: { type: 'object', required: needed } }
  const errors = validateValue(
    numbers(5_000).map(() => ({})),
    schema,
    'l',
  )
  t.ok(errors.length >= limits.fieldErrorsMax)
  t.ok(errors.length < 2 * limits.fieldErrorsMax)
})

t.test('the longest of very many texts', async (t) => {
  const schema = { type: 'string', enum: numbers(200_000).map(String) }
  t.equal(declareType(schema, 'self', false)?.sizeMax, 6)
})

t.test('a long name of a map whose values are all wrong', async (t) => {
  const long = 'k'.repeat(1_000_000)
  const maps = { type: 'object', additionalProperties: { type: 'object' } as StructuralSchema }
  const value = { [long]: Object.fromEntries(numbers(20_000).map((i) => [`k${i}`, 'x'])) }
  maps.additionalProperties.additionalProperties = { type: 'integer' }
  const errors = validateValue(value, maps, '')
  t.ok(errors.length > 1 && errors.length < 100)
  const fields = Object.fromEntries(numbers(9_000).map((i) => [`u${i}`, {}]))
  const wrong = validateDefinition(
    definitionOf({
      type: 'object',
      properties: { [long]: { type: 'object', properties: fields } },
    }),
  )
  t.ok(wrong.length > 1 && wrong.length < 100)
})

t.test('a definition of very many versions, all of them wrong', async (t) => {
  const definition = definitionOf({ type: 'object' })
  const made = definition.spec.versions[0]!
  const nameless = numbers(100_000).map(() => ({ name: '', served: false, storage: false }))
  const spec = { ...definition.spec, versions: nameless }
  const wrong = validateDefinition({ ...definition, spec })
  t.match(wrong[0], { field: 'spec.versions[0].schema.openAPIV3Schema' })
  t.ok(wrong.some(({ field }) => field === 'spec.versions[99999].name'))
  const versions = numbers(50_000).map((i) => ({ ...made, name: `v${i}`, storage: i === 1 }))
  t.same(validateDefinition({ ...definition, spec: { ...definition.spec, versions } }), [])
})

t.test(
  'a column whose path has more brackets, or more ways, than there is room or time for',
  async (t) => {
    const cellOf = (jsonPath: string, spec: JsonObject) => {
      const version = {
        name: 'v1',
        additionalPrinterColumns: [{ name: 'C', type: 'string', jsonPath }],
      }
      const object = { apiVersion: 'x/v1', kind: 'X', metadata: { name: 'a' }, spec } as KubeObject
      return customTable(version as DefinitionVersion).cells(object, 0)[1]
    }
    const nested = (depth: number) => `.spec.l${'[?(@.l'.repeat(depth)}${')]'.repeat(depth)}.n`
    t.equal(cellOf(nested(1), { l: [{ l: [{}], n: 'here' }] }), 'here')
    t.equal(cellOf(nested(50_000), {}), undefined)
    let deep: JsonObject = { n: 'end' }
    for (let i = 0; i < 40; i++) deep = { a: deep }
    t.equal(cellOf(`.spec${'..a'.repeat(20)}..n`, deep), 'end')
    t.equal(cellOf('.spec...n', deep), 'end')
    t.equal(cellOf('.spec....n', deep), undefined)
  },
)

t.test('as many finalizers as an object holds', async (t) => {
  const finalizers = numbers(100_000).map((i) => `a${i}`)
  const object = { metadata: { finalizers } } as KubeObject
  const strategy = customStrategy({ name: 'v1', served: true, storage: true }, 'A')
  t.equal(strategy.warningsOnUpdate!(object, object, {} as RequestContext).length, 0)
})

t.test('a column that finds more than a call has arguments', async (t) => {
  const additionalPrinterColumns = [{ name: 'C', type: 'integer', jsonPath: '.spec.l[*]' }]
  const version = { name: 'v1', additionalPrinterColumns } as DefinitionVersion
  const spec = { l: numbers(300_000) }
  const object = { apiVersion: 'x/v1', kind: 'X', metadata: { name: 'a' }, spec } as KubeObject
  t.equal(customTable(version).cells(object, 0)[1], 0)
})

t.test('a rule that holds of no item', async (t) => {
  const rule = { rule: 'self > 0' } as ValidationRule
  const items = { type: 'integer', 'x-kubernetes-validations': [rule] }
  const count = 130_000
  const checker = makeRuleChecker({
    type: 'object',
    properties: { l: { type: 'array', maxItems: count, items } },
  })!
  const errors = checker.check({ l: numbers(count).fill(0) }, undefined)
  t.equal(errors.length, count)
})

const definitionOf = (schema: StructuralSchema) =>
  ({
    metadata: { name: 'as.x.io' },
    spec: {
      ...{ group: 'x.io', scope: 'Cluster' },
      names: { plural: 'as', singular: 'a', kind: 'A', listKind: 'AList' },
      versions: [
        {
          ...{ name: 'v1', served: true, storage: true },
          schema: { openAPIV3Schema: { type: 'object', properties: { spec: schema } } },
        },
      ],
    },
    status: { storedVersions: ['v1'], acceptedNames: { plural: 'as', kind: 'A' } },
  }) as unknown as CustomResourceDefinition

t.test('a definition that is wrong in more properties than are told of', async (t) => {
  const rules = [{ rule: 'self.(' }] as ValidationRule[]
  for (const [wrong, field] of [
    [{ type: 'wrong' }, /properties\[p0\]\.type$/],
    [{}, /properties\[p0\]\.type$/],
    [{ type: 'string', default: 1 }, /properties\[p0\]\.default$/],
    [{ type: 'string', not: { properties: { a: { type: 'string' } } } }, /properties\[a\]\.type$/],
    [{ type: 'string', 'x-kubernetes-validations': rules }, /validations\[0\]\.rule$/],
  ] as const) {
    const properties = Object.fromEntries(numbers(12_000).map((i) => [`p${i}`, wrong]))
    const errors = validateDefinition(definitionOf({ type: 'object', properties }))
    t.equal(errors.length, limits.fieldErrorsMax, 'the rest is not looked for')
    t.match(errors[0]?.field, field)
  }
})

t.test('a map of which no key is a property of its items', async (t) => {
  const keys = numbers(20_000).map((i) => `k${i}`)
  const list: StructuralSchema = {
    ...{ type: 'array', items: { type: 'object' } },
    ...{ 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': keys },
  }
  const errors = validateDefinition(definitionOf(list))
  t.equal(errors.length, keys.length)
  t.match(errors.at(-1), { body: /"k19999"\]: entries must all be names of item properties$/ })
})
