/** Structural schemas at random, mostly right, with rules in CEL; and values that mostly fit one. */
import { type Dice, given } from '../../dice.js'

export type RandomSchema = Readonly<Record<string, unknown>>

const rulesByType: Readonly<Record<string, readonly string[]>> = {
  string: [
    ...['self.size() < 3', 'self == oldSelf', "self.startsWith('a')", 'self.matches("^[a-c]+$")'],
    ...[
      'oldSelf.orValue("x") == self',
      'self.x',
      '1',
      'size(self) >= oldSelf.size()',
      'self in ["a"]',
    ],
    ...[
      'quantity(self).isGreaterThan(quantity("1"))',
      'isURL(self)',
      'int(self) > 1',
      'self ==',
      '',
    ],
  ],
  integer: [
    ...[
      'self > 1',
      'self >= oldSelf',
      '5 / self > 1',
      'self in [1, 2, 3]',
      'self.x',
      'self == "a"',
    ],
    ...[
      'oldSelf.hasValue() ? self > oldSelf.value() : true',
      'double(self) < 2.5',
      'self % 2 == 0',
    ],
  ],
  boolean: ['self', '!self', 'self == oldSelf', 'self == 1', 'self ? true : false'],
  object: [
    ...['has(self.a)', '!has(self.a) || !has(self.b)', 'self == oldSelf', 'self.a == oldSelf.a'],
    ...[
      'has(self.a) == has(oldSelf.a)',
      'self.nope == 1',
      'self.all(k, k.size() < 3)',
      'self.size() < 2',
    ],
    ...[
      'type(self.a) == int',
      'self.?a.hasValue()',
      'dyn(self).a == 1',
      'self.metadata.name == "a"',
    ],
  ],
  array: [
    ...['self.size() < 2', 'self.all(x, x == self[0])', 'self.exists_one(x, x == self[0])'],
    ...['self == oldSelf', 'self.isSorted()', 'self[5] == self[0]', 'self.sum() < 5', 'self.x'],
    ...[
      'self.map(x, x).size() == self.size()',
      'oldSelf.all(x, x in self)',
      'sets.contains(self, [])',
    ],
  ],
}
const messages = ['m', '', 'a\nb', ' ']
const messageExpressions = [
  '"x"',
  '1',
  '"got " + string(self)',
  'self',
  '""',
  '"a\\nb"',
  'self.x',
  '"a"[1]',
]
const reasons = ['FieldValueInvalid', 'FieldValueForbidden', 'FieldValueRequired', 'Nope', '']
const fieldPaths = ['.a', '.b', '.a.b', 'a', '.nope', '[0]', '', '.a[0]', "['a']"]

const ruleOf = ({ pick, maybe, oneIn }: Dice, type: string): RandomSchema =>
  given({
    rule: pick(rulesByType[type] ?? ['true']),
    message: maybe(() => pick(messages), 3),
    messageExpression: maybe(() => pick(messageExpressions), 3),
    reason: maybe(() => pick(reasons), 4),
    fieldPath: maybe(() => pick(fieldPaths), 6),
    optionalOldSelf: maybe(() => oneIn(2), 4),
  })

/** Also what does not go with the type. */
const oddities: readonly RandomSchema[] = [
  { type: undefined },
  { type: 'null' },
  { uniqueItems: true },
  { 'x-kubernetes-list-type': 'map' },
  { 'x-kubernetes-list-map-keys': ['a'] },
  { 'x-kubernetes-map-type': 'granular' },
  { 'x-kubernetes-preserve-unknown-fields': true },
  { 'x-kubernetes-preserve-unknown-fields': false },
  { 'x-kubernetes-embedded-resource': true },
  { 'x-kubernetes-int-or-string': true },
  { additionalProperties: false },
  { additionalProperties: true },
  { default: null },
  { default: 'x' },
  { default: {} },
  { pattern: '(' },
  { format: 'nope' },
  { enum: [] },
  { enum: ['a', 'a', null] },
  { minimum: 3, maximum: 1 },
  { oneOf: [{ required: ['a'] }, { required: ['b'] }] },
  { anyOf: [{ type: 'string' }, { type: 'integer' }] },
  { not: { required: ['a'] } },
  { allOf: [{ minLength: 2 }, { properties: { a: { minimum: 2 } } }] },
  { $ref: '#/a' },
  { example: 'x', title: 't', externalDocs: { url: 'u' } },
]

const withOdd = (schema: RandomSchema, dice: Dice): RandomSchema => {
  const type = String(schema.type)
  const rules = dice.maybe(
    () => [ruleOf(dice, type), ...(dice.oneIn(4) ? [ruleOf(dice, type)] : [])],
    3,
  )
  return given({
    ...schema,
    nullable: dice.maybe(() => true, 5),
    'x-kubernetes-validations': rules,
    ...(dice.oneIn(14) && dice.pick(oddities)),
  })
}

const formats = [
  'date',
  'date-time',
  'uuid',
  'ipv4',
  'cidr',
  'byte',
  'duration',
  'email',
  'hostname',
]

const makers: readonly ((dice: Dice, depth: number) => RandomSchema)[] = [
  ({ maybe, pick }) => ({
    type: 'string',
    default: maybe(() => pick(['a', 'abc', '']), 4),
    enum: maybe(() => ['a', 'b'], 5),
    maxLength: maybe(() => 2, 2),
    minLength: maybe(() => 1, 5),
    pattern: maybe(() => '^[a-z]*$', 5),
    format: maybe(() => pick(formats), 5),
  }),
  ({ maybe, pick, oneIn }) => ({
    type: pick(['integer', 'number']),
    default: maybe(() => pick([1, 2, 1.5]), 4),
    minimum: maybe(() => 1, 4),
    maximum: maybe(() => 3, 3),
    exclusiveMaximum: maybe(() => oneIn(2), 6),
    multipleOf: maybe(() => pick([2, 0.5]), 6),
    format: maybe(() => pick(['int32', 'int64', 'float', 'double']), 4),
  }),
  ({ maybe, oneIn }) => ({ type: 'boolean', default: maybe(() => oneIn(2), 3) }),
  ({ maybe }) => ({ 'x-kubernetes-int-or-string': true, default: maybe(() => '5%', 4) }),
  ({ maybe }) => ({
    type: 'object',
    'x-kubernetes-embedded-resource': true,
    'x-kubernetes-preserve-unknown-fields': maybe(() => true),
    properties: { spec: { type: 'object', properties: { a: { type: 'integer' } } } },
  }),
  ({ maybe }) => ({
    type: 'object',
    'x-kubernetes-preserve-unknown-fields': true,
    maxProperties: maybe(() => 1),
  }),
  (dice, depth) => ({
    type: 'object',
    additionalProperties: schemaOf(dice, depth - 1),
    maxProperties: dice.maybe(() => 3),
  }),
  (dice, depth) => ({
    type: 'array',
    items: schemaOf(dice, depth - 1),
    maxItems: dice.maybe(() => 3),
    'x-kubernetes-list-type': dice.maybe(() => dice.pick(['atomic', 'set']), 3),
  }),
  (dice, depth) => ({
    type: 'array',
    'x-kubernetes-list-type': 'map',
    'x-kubernetes-list-map-keys': ['a'],
    maxItems: dice.maybe(() => 3),
    items: { ...objectOf(dice, depth - 1), required: ['a'] },
  }),
  (dice, depth) => objectOf(dice, depth),
  (dice, depth) => objectOf(dice, depth),
]

const leafMakers = 4

const objectOf = (dice: Dice, depth: number): RandomSchema =>
  given({
    type: 'object',
    properties: Object.fromEntries(
      ['a', 'b', 'c'].slice(dice.below(3)).map((name) => [name, schemaOf(dice, depth - 1)]),
    ),
    required: dice.maybe(() => dice.some(['a', 'c']), 5),
    default: dice.maybe(() => ({}), 5),
    'x-kubernetes-map-type': dice.maybe(() => 'atomic', 8),
  })

const schemaOf = (dice: Dice, depth: number): RandomSchema => {
  const make = dice.pick(depth > 0 ? makers : makers.slice(0, leafMakers))
  return withOdd(make(dice, depth), dice)
}

/** Of what a resource holds beside its metadata. */
export const randomSchema = (dice: Dice): RandomSchema => withOdd(objectOf(dice, 3), dice)

const anything = [null, 'a', 'abc', '', 1, 0, 2.5, true, [], {}, [null], { a: null }, { x: 1 }]

export const randomValue = (schema: RandomSchema, dice: Dice): unknown => {
  const { pick, oneIn, below } = dice
  if (oneIn(9)) return pick(anything)
  if (schema['x-kubernetes-int-or-string']) return pick([1, '5%', 'a'])
  if (schema['x-kubernetes-embedded-resource'])
    return {
      ...{
        apiVersion: 'v1',
        kind: 'Pod',
        metadata: pick([{ name: 'a' }, {}, { name: 'A b', x: 1 }]),
      },
      ...pick([{}, { spec: { a: 1, b: 2 } }, { spec: null }]),
    }
  switch (schema.type) {
    case 'string':
      return pick(['a', 'b', 'abc', '', '5', '2020-01-01', 'YQ=='])
    case 'integer':
    case 'number':
      return pick([0, 1, 2, 3, 1.5, 5e9])
    case 'boolean':
      return oneIn(2)
    case 'array':
      return Array.from({ length: below(4) }, () => randomValue(schema.items as RandomSchema, dice))
    default: {
      const inner = schema.additionalProperties as RandomSchema | undefined
      const properties = (schema.properties ?? {}) as Record<string, RandomSchema>
      return given({
        ...(inner && { k: randomValue(inner, dice), long: randomValue(inner, dice) }),
        ...Object.fromEntries(
          Object.entries(properties)
            .filter(() => !oneIn(4))
            .map(([name, property]) => [name, randomValue(property, dice)]),
        ),
        unknown: dice.maybe(() => pick(anything), 8),
      })
    }
  }
}
