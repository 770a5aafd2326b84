/** Rules that cost too much together; the answers are those of kube-apiserver v1.36.3. */
import t from 'tap'
import { makeRuleChecker } from '#crd/rules/check-rules.js'
import type { StructuralSchema } from '#crd/structural-schema.js'

t.test('a rule that ends in an error spends its part of the budget, too', async (t) => {
  const costly = 'self.list.all(a, self.list.all(b, a == b || true))'
  const rules = Array.from({ length: 30 }, (_, i) => ({
    rule: `(${costly} || ${i} == ${i}) && int(self.name) == 1`,
  }))
  const schema: StructuralSchema = {
    type: 'object',
    properties: {
      name: { type: 'string', maxLength: 5 },
      list: { type: 'array', maxItems: 300, items: { type: 'string', maxLength: 3 } },
    },
    'x-kubernetes-validations': rules,
  }
  const value = { name: 'x', list: Array<string>(300).fill('a') }
  const said = makeRuleChecker(schema)!
    .check(value, undefined)
    .map(({ body }) => body)
  t.equal(said.length, 19)
  t.match(said[17], /^Invalid value: "object": type conversion error from 'string' to 'int' /)
  t.equal(
    said[18],
    'Invalid value: "object": validation failed due to running out of cost budget, no further validation rules will be run',
  )
})
