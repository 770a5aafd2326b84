/**
 * What an update may keep (CRDValidationRatcheting): by its schema, and by its rules, which are asked again each time and
 * tell of what does not hold where nothing changed. The answers are those of v1.36.3.
 */
import t from 'tap'
import type { KubeObject } from '#api/object.js'
import { customStrategy } from '#crd/custom-strategy.js'
import type { StructuralSchema } from '#crd/structural-schema.js'
import { noteFloat } from '#registry/decode/whole-floats.js'
import type { RequestContext } from '#registry/resource-definition.js'

const text = { type: 'string' }
const int = { type: 'integer' }
const object = (properties: object, more: object = {}) => ({ type: 'object', properties, ...more })
const list = (items: object, more: object = {}) => ({ type: 'array', items, ...more })
const byName = { 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['k'] }
const rules = (...all: object[]) => ({ 'x-kubernetes-validations': all })
const open = { 'x-kubernetes-preserve-unknown-fields': true }

/** What changing `spec.it` from one value to another, or nothing but `spec.other`, is answered with. */
const update = (it: object, from: unknown, to: unknown) => {
  const schema = object({ spec: object({ it, other: int }) }) as StructuralSchema
  const { validateUpdate } = customStrategy(
    {
      ...{ name: 'v1', served: true, storage: true },
      schema: { openAPIV3Schema: schema },
    },
    'Thing',
  )
  const thing = (spec: object, resourceVersion: string): KubeObject => ({
    ...{ apiVersion: 'e.com/v1', kind: 'Thing', spec },
    metadata: { name: 'a', uid: 'u', resourceVersion },
  })
  const warnings: string[] = []
  const ctx = { warn: (text: string) => warnings.push(text) } as unknown as RequestContext
  const next = thing({ it: to, other: 2 }, '1')
  const metadata = { change: () => [], create: () => [] }
  const errors = validateUpdate!(next, thing({ it: from, other: 1 }, '1'), ctx, metadata)
  return { errors: errors.map(({ field, body }) => `${field}: ${body}`), warnings }
}

t.test('a value that stays may be invalid, with all that its schema knows of it', (t) => {
  const few = { ...int, maximum: 3 }
  const keeps = (it: object, value: unknown, to = value) => update(it, value, to).errors
  t.strictSame(keeps(object({ x: few }), { x: 9 }), [])
  t.strictSame(
    keeps({ type: 'object', ...open, required: ['must'] }, { other: 1 }),
    ['spec.it.must: Required value'],
    'what the schema does not know never is the same',
  )
  const item = list(object({ k: text, v: few }), byName)
  const items = [
    { k: 'a', v: 9 },
    { k: 'b', v: 9 },
  ]
  t.strictSame(keeps(item, items, [...items].reverse()), [], 'items are known by their keys')
  t.strictSame(keeps({ ...item, maxItems: 1 }, items, [...items].reverse()), [])
  t.strictSame(keeps(list(few, { 'x-kubernetes-list-type': 'set' }), [9], [9, 1]), [
    'spec.it[0]: Invalid value: 9: spec.it[0] in body should be less than or equal to 3',
  ])
  const branch = object({ x: int, y: int }, { allOf: [{ properties: { x: few } }] })
  t.strictSame(
    keeps(branch, { x: 9, y: 1 }, { x: 9, y: 2 }),
    [
      'spec.it.x: Invalid value: 9: spec.it.x in body should be less than or equal to 3',
      '<nil>: Invalid value: "": "spec.it" must validate all the schemas (allOf). None validated',
    ],
    'a branch knows nothing of the past',
  )
  t.end()
})

t.test('a rule that an unchanged value breaks is a warning', (t) => {
  const low = rules({ rule: 'self < 5', message: 'low' })
  const why = 'Invalid value: 9: low'
  t.strictSame(update({ ...int, ...low }, 9, 9), { errors: [], warnings: [`spec.it: ${why}`] })
  t.strictSame(update({ ...int, ...low }, 8, 9), { errors: [`spec.it: ${why}`], warnings: [] })

  const map = { type: 'object', additionalProperties: { ...int, ...low } }
  t.strictSame(update(map, { a: 9 }, { a: 9, b: 9 }), {
    errors: [`spec.it[b]: ${why}`],
    warnings: [`spec.it[a]: ${why}`],
  })
  const set = list({ ...int, ...low }, { 'x-kubernetes-list-type': 'set' })
  t.strictSame(
    update(set, [9], [9]).warnings,
    [`spec.it[0]: ${why}`],
    'as one of a list that stays',
  )
  t.strictSame(update(set, [9], [9, 1]).errors, [`spec.it[0]: ${why}`])

  const must = rules({ rule: 'self != oldSelf', message: 'change' })
  const { errors } = update({ ...int, ...must }, 1, 1)
  t.strictSame(errors, ['spec.it: Invalid value: 1: change'], 'a transition is no state')
  const broken = update({ ...int, ...rules({ rule: '1 / self > 0' }) }, 0, 0)
  t.strictSame(broken.errors, [
    'spec.it: Invalid value: "integer": division by zero evaluating rule: 1 / self > 0',
  ])
  const nothing = { ...text, nullable: true, ...rules({ rule: 'self == "x"' }) }
  t.strictSame(update(nothing, null, null), { errors: [], warnings: [] })
  t.end()
})

t.test('rules of allOf count beside others, and are not kept', (t) => {
  const low = (more: object) => rules({ rule: 'self < 5', message: 'low', ...more })
  const it = object(
    { x: { ...int, ...rules({ rule: 'self != 0' }) } },
    { allOf: [{ properties: { x: low({}) } }] },
  )
  t.strictSame(update(it, { x: 9 }, { x: 9 }).errors, ['spec.it.x: Invalid value: 9: low'])
  const alone = object({ x: int }, { allOf: [{ properties: { x: low({}) } }] })
  t.strictSame(update(alone, { x: 8 }, { x: 9 }).errors, [], 'no other rule makes them count')
  t.end()
})

t.test('what a rule says of a value', (t) => {
  const says = (it: object, value: unknown) => update(it, undefined, value).errors
  const twice = rules({ rule: 'self == 0', message: 'm', reason: 'FieldValueDuplicate' })
  t.strictSame(says({ ...int, ...twice }, 7), ['spec.it: Duplicate value: 7'])
  const either = { 'x-kubernetes-int-or-string': true, ...rules({ rule: 'self == 1' }) }
  t.strictSame(says(either, 'x'), ['spec.it: Invalid value: "x": failed rule: self == 1'])
  const once = {
    rule: '!oldSelf.hasValue() || self == oldSelf.value()',
    ...{ optionalOldSelf: true, message: 'once', messageExpression: '"was " + oldSelf.value()' },
  }
  t.strictSame(
    update({ ...text, ...rules(once) }, 'a', 'b').errors,
    ['spec.it: Invalid value: "b": once'],
    'its message knows the old value as such',
  )
  t.end()
})

t.test('a rule cannot look at what does not fit its schema', (t) => {
  const any = rules({ rule: 'self.x == self.x' })
  const why = (text: string) => [
    `spec.it: Invalid value: "object": invalid data, ${text} evaluating rule: self.x == self.x`,
  ]
  const kept = (x: object, value: unknown) =>
    update(object({ x }, any), { x: value }, { x: value }).errors
  const map = { type: 'object', additionalProperties: text }
  t.strictSame(kept(map, []), why('expected a map for the provided schema with type=object'))
  t.strictSame(kept(text, 5), why('expected string, got int64'))
  t.strictSame(kept(int, 'x'), why('expected int, got string'))
  const either = { 'x-kubernetes-int-or-string': true }
  for (const [schema, value] of [
    [either, 1.5],
    [{ ...either, type: 'object', properties: { y: int } }, { y: 1 }],
    [{ ...either, type: 'array', items: int }, [1]],
  ] as const)
    t.strictSame(
      kept(schema, value),
      why('expected XIntOrString value to be either a string or integer'),
    )
  t.end()
})

t.test('what scale reads has to be what it reads', (t) => {
  const { validate } = customStrategy(
    {
      ...{ name: 'v1', served: true, storage: true },
      schema: { openAPIV3Schema: { type: 'object', ...open } },
      subresources: {
        scale: {
          ...{ specReplicasPath: '.spec.n', statusReplicasPath: '.status.n' },
          labelSelectorPath: '.status.l',
        },
      },
    },
    'Thing',
  )
  const says = (content: object): string[] => {
    const thing = { apiVersion: 'e.com/v1', kind: 'Thing', metadata: { name: 'a' }, ...content }
    const ctx = {} as RequestContext
    return validate!(thing as KubeObject, ctx).map(({ field, body }) => `${field}: ${body}`)
  }
  const error = (field: string, why: string) => `${field}: Invalid value: ${why}`
  t.strictSame(says({ spec: null, status: { n: 1, l: 'a=b' } }), [])
  t.strictSame(says({ spec: { n: 1e21 } }), [
    error('.spec.n', '0: .spec.n accessor error: 1e+21 is of the type float64, expected int64'),
  ])
  t.strictSame(says({ spec: { n: 9007199254740992n } }), [
    error('.spec.n', '9007199254740992: should be less than or equal to 2147483647'),
  ])
  const spec = { n: 2147483648 }
  noteFloat(spec, 'n', spec.n, '2147483648.0')
  t.strictSame(says({ spec }), [
    error(
      '.spec.n',
      '0: .spec.n accessor error: 2.147483648e+09 is of the type float64, expected int64',
    ),
  ])
  const noMap = 'accessor error: [] is of the type []interface {}, expected map[string]interface{}'
  t.strictSame(says({ status: [] }), [
    error('.status.n', `0: .status.n ${noMap}`),
    error('.status.l', `"": .status.l ${noMap}`),
  ])
  t.end()
})

t.test('errors of a status that is no object are at the status', (t) => {
  const schema = object({ status: { ...int, minimum: 5 } }) as StructuralSchema
  const { status } = customStrategy(
    {
      ...{ name: 'v1', served: true, storage: true, subresources: { status: {} } },
      schema: { openAPIV3Schema: schema },
    },
    'Thing',
  )
  const thing = (status: number): KubeObject => ({
    ...{ apiVersion: 'e.com/v1', kind: 'Thing', status },
    metadata: { name: 'a', uid: 'u', resourceVersion: '1' },
  })
  const ctx = { warn: () => undefined } as unknown as RequestContext
  const metadata = { change: () => [], create: () => [] }
  const errors = status!.validateUpdate!(thing(1), thing(7), ctx, metadata)
  t.strictSame(
    errors.map(({ field, body }) => `${field}: ${body}`),
    ['status: Invalid value: 1:  in body should be greater than or equal to 5'],
  )
  t.end()
})
