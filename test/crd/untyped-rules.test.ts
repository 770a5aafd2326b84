/** Rules of items under what is no array: an update of a definition may leave such behind (apiextensions-apiserver, cel.validator). */
import t from 'tap'
import { makeRuleChecker } from '#crd/rules/check-rules.js'
import type { StructuralSchema } from '#crd/structural-schema.js'

const rules = (rule: string) => ({ 'x-kubernetes-validations': [{ rule }] })
const listOf = (type: string): StructuralSchema => ({
  type: 'object',
  properties: {
    list: {
      type,
      items: {
        type: 'object',
        properties: { n: { type: 'integer', ...rules('self < 5') } },
        ...rules('self.n < 5'),
      },
    },
  },
})

const said = (schema: StructuralSchema): string[] =>
  makeRuleChecker(schema)!
    .check({ list: [{ n: 8 }] }, undefined)
    .map(({ field, body }) => `${field}: ${body}`)

t.test('they hold for items of an array', async (t) => {
  t.same(said(listOf('array')), [
    'list[0]: Invalid value: failed rule: self.n < 5',
    'list[0].n: Invalid value: 8: failed rule: self < 5',
  ])
})

t.test('they are errors elsewhere, and rules inside are passed over', async (t) => {
  const why = 'failed to convert to declType for CEL validation rules'
  t.same(said(listOf('object')), [
    `list[0]: Invalid value: "object": rule compiler initialization error: ${why}`,
  ])
})
