import t from 'tap'
import { prune } from '#crd/prune.js'
import type { StructuralSchema, ValidationRule } from '#crd/structural-schema.js'
import { validateDefaultValues } from '#crd/validate-default-values.js'

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
  const items = { 'x-kubernetes-preserve-unknown-fields': true }
  t.strictSame(errorsOf({ type: 'array', items, default: [], ...broken }), [
    `${at} "array": rule compiler initialization error: failed to convert to declType for CEL validation rules`,
  ])
  t.end()
})

t.test('unknown metadata is told by the key of its map, other fields as if they had names', (t) => {
  const embedded = { type: 'object', 'x-kubernetes-embedded-resource': true }
  const schema = {
    type: 'object',
    properties: { m: { type: 'object', additionalProperties: embedded } },
  }
  const value = { m: { k: { apiVersion: 'v1', kind: 'K', metadata: { bogus: 1 }, spec: {} } } }
  t.strictSame(prune(value, schema), ['m.k.spec', 'm[k].metadata.bogus'])
  t.end()
})
