import t from 'tap'
import { validateDefaultValues } from '#crd/definition/validate-default-values.js'
import { prune } from '#crd/prune.js'
import type { StructuralSchema, ValidationRule } from '#crd/structural-schema.js'
import type { JsonValue } from '#json/value.js'

t.test('a default has to meet the rules as what stays and as what comes', (t) => {
  const errorsOf = (rule: ValidationRule) => {
    const rules = { 'x-kubernetes-validations': [rule] }
    const a = { type: 'integer', default: 4, ...rules }
    const found = validateDefaultValues({ type: 'object', properties: { a } }, 'schema')
    return found.map(({ field, body }) => `${field}: ${body}`)
  }
  const said = ['schema.properties[a].default: Invalid value: 4: m']
  t.strictSame(errorsOf({ rule: 'self > oldSelf', message: 'm' }), said)
  t.strictSame(errorsOf({ rule: 'self >= oldSelf', message: 'm' }), [])
  const comes = { rule: 'oldSelf.hasValue()', optionalOldSelf: true, message: 'm' }
  t.strictSame(errorsOf(comes), said)
  for (const reason of ['', 'Nope', 'constructor'])
    t.strictSame(
      errorsOf({ rule: 'self > 4', message: 'm', reason }),
      said,
      `a reason that is none: "${reason}"`,
    )
  t.end()
})

t.test('a default is asked of what its schema says, formats and broken rules included', (t) => {
  const errorsOf = (a: StructuralSchema) => {
    const found = validateDefaultValues({ type: 'object', properties: { a } }, 'schema')
    return found.map(({ field, body }) => `${field}: ${body}`)
  }
  const at = 'schema.properties[a].default: Invalid value:'
  t.strictSame(errorsOf({ type: 'string', format: 'int32', default: [] }), [])
  t.strictSame(errorsOf({ type: 'boolean', format: 'int32', default: {} }), [
    `${at} "":  in body must be of type int32: ""`,
  ])
  const broken = { 'x-kubernetes-validations': [{ rule: 'nothing' }] }
  t.match(errorsOf({ type: 'boolean', default: true, ...broken }), [
    `${at} "boolean": rule compile error: compilation failed: ERROR: <input>:1:1: undeclared reference`,
  ])
  const empty = { 'x-kubernetes-validations': [{ rule: ' ' }] }
  t.strictSame(errorsOf({ type: 'boolean', default: true, ...empty }), [], 'refused by its words')
  t.strictSame(
    errorsOf({ type: 'object', additionalProperties: { type: 'string' }, default: { b: 1 } }),
    [`${at.replace(':', '.b:')} "integer": .b in body must be of type string: "integer"`],
  )
  const items = { 'x-kubernetes-preserve-unknown-fields': true }
  t.strictSame(errorsOf({ type: 'array', items, default: [], ...broken }), [
    `${at} "array": rule compiler initialization error: failed to convert to declType for CEL validation rules`,
  ])
  t.end()
})

t.test(
  'an unknown field is named behind the key of its map; embedded metadata is left alone',
  (t) => {
    const embedded = { type: 'object', 'x-kubernetes-embedded-resource': true }
    const schema = {
      type: 'object',
      properties: { m: { type: 'object', additionalProperties: embedded } },
    }
    const value = { m: { k: { apiVersion: 'v1', kind: 'K', metadata: { bogus: 1 }, spec: {} } } }
    t.strictSame(prune(value, schema), ['m.k.spec'])
    t.strictSame(value.m.k, { apiVersion: 'v1', kind: 'K', metadata: { bogus: 1 } })
    t.end()
  },
)

t.test(
  'a default in or with metadata has to make metadata that does, whatever else it holds',
  (t) => {
    const errorsOf = (
      properties: Record<string, StructuralSchema>,
      more: StructuralSchema = {},
    ) => {
      const e = { type: 'object', 'x-kubernetes-embedded-resource': true, properties, ...more }
      const found = validateDefaultValues({ type: 'object', properties: { e } }, 's')
      return found.map(({ field, body }) => `${field}: ${body}`)
    }
    const metadata = (value: JsonValue) => ({ metadata: { type: 'object', default: value } })
    t.strictSame(errorsOf(metadata({ name: 'b', unknown: 1 })), [])
    const whole = { apiVersion: 'v1', kind: 'K', metadata: { name: 'b', unknown: 1 } }
    t.strictSame(errorsOf({ foo: { type: 'string' } }, { default: whole }), [])
    t.strictSame(errorsOf({}, { default: { ...whole, foo: 'f' } }), [
      's.properties[e].default: Invalid value: {"apiVersion":"v1","foo":"f","kind":"K","metadata":{"name":"b"}}: must not have unknown fields',
    ])
    const wrong = { ...whole, metadata: { name: 'b', labels: 5 } }
    t.match(errorsOf({ foo: { type: 'string' } }, { default: wrong }), [
      's.properties[e].default.metadata: Invalid value: {"labels":5,"name":"b"}: json: cannot',
    ])
    const must = 'must result in valid metadata:'
    t.match(errorsOf(metadata({ name: 'b', labels: { a: '-' } })), [
      `s.properties[e].properties[metadata].default: Invalid value: {"labels":{"a":"-"},"name":"b"}: ${must} metadata.labels: Invalid value: "-"`,
    ])
    t.match(errorsOf({ kind: { type: 'string', default: 'a b' } }), [
      `s.properties[e].properties[kind].default: Invalid value: "a b": ${must} kind: Invalid value: "a b"`,
    ])
    t.end()
  },
)
