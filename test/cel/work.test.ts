/** Expressions that cost little and would take hours, or all memory: what they do counts, too. */
import t from 'tap'
import { checkExpression, programOf } from '#cel/compile.js'
import { Environment } from '#cel/environment.js'
import { fromJson } from '#cel/json-values.js'
import { types } from '#cel/types.js'
import { CostExceeded } from '#cel/work.js'
import type { JsonObject } from '#json/value.js'
import { limits } from '#limits'

const environment = Environment.base.withVariables({ self: types.dyn })
const evaluate = (text: string, self: JsonObject = {}) => {
  const value = fromJson(self)
  const variables = (name: string) => (name === 'self' ? value : undefined)
  return programOf(checkExpression(environment, text))(variables, limits.celCallCostMax)
}

/** Each step holds twice what the one before it held. */
const doubled = (times: number) => `[['a']]${'.map(a, a + a)'.repeat(times)}`
const nested = `[['a']]${'.map(a, [a, a])'.repeat(60)}`
const quoted = `${'strings.quote('.repeat(40)}'"'${')'.repeat(40)}`

t.test('values that double with each step are not made', async (t) => {
  t.equal(evaluate(`${doubled(10)}[0].size()`).value, 1024n, 'a few steps are fine')
  for (const text of [
    `${doubled(60)}[0].size()`,
    quoted,
    `${nested} == ${nested}`,
    `'%s'.format([${nested}])`,
  ])
    t.throws(() => evaluate(text), new CostExceeded(), text.slice(-40))
})

t.test('a large object is not looked at again and again', async (t) => {
  const parts = Array.from({ length: 20_000 }, (_none, a) => ({ a }))
  const self = { whole: [[parts]], text: '😀'.repeat(200_000), time: '1ns'.repeat(200_000) }
  for (const text of [
    'self.whole == self.whole',
    "'%s'.format([self.whole]) != ''",
    'self.whole[0][0] + self.whole[0][0] != []',
    "self.text.charAt(1) != ''",
    'duration(self.time) != self',
    "!matches(self.text, 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa')",
    'self.whole[0][0].map(x, x.a).sort().size() == 20000',
  ]) {
    t.equal(evaluate(text, self).value, true, `once: ${text}`)
    t.throws(() => evaluate(`lists.range(50000).all(i, ${text})`, self), new CostExceeded(), text)
  }
})

t.test('a loop that ends at its first item does not look at the others', async (t) => {
  const self = { list: Array.from({ length: 100_000 }, (_none, i) => i) }
  const { value } = evaluate('lists.range(20000).all(i, self.list.exists(x, true))', self)
  t.equal(value, true)
})

t.test('a comparison costs its parts, where it is more than upstream counts', async (t) => {
  const self = { whole: [Array.from({ length: 1000 }, (_none, i) => i)] }
  t.ok(evaluate('self.whole == self.whole', self).cost > 1000)
})

t.test('types that double with each step are refused', async (t) => {
  const steps = (times: number) => `[1]${'.map(a, {1: a}).map(a, {a: a})'.repeat(times)}.size() > 0`
  t.equal(checkExpression(environment, steps(4)).type, types.bool, 'a few steps are fine')
  t.throws(() => checkExpression(environment, steps(60)), { message: /types of the expression/ })
})
