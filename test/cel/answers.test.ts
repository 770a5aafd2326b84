/**
 * What kube-apiserver v1.36.3 says of some 950 expressions in rules of a definition: the texts of those it refuses, the
 * values and errors of those it evaluates, and the estimated costs, which loops around each expression make visible.
 */
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { makeRuleChecker } from '#crd/rules/check-rules.js'
import { validateRules } from '#crd/rules/validate-rules.js'
import type { StructuralSchema, ValidationRule } from '#crd/structural-schema.js'

interface Answers {
  readonly schema: Record<string, StructuralSchema>
  readonly refused: Record<string, string[]>
  readonly values: Record<string, string>
  readonly costs: Record<string, [loops: number, factor: string]>
}

const folder = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../../../test/cel')
const answers: Answers = JSON.parse(
  readFileSync(path.join(folder, 'fixtures/answers.json'), 'utf8'),
)

const schemaWith = (rule: ValidationRule): StructuralSchema => ({
  type: 'object',
  properties: {
    spec: { type: 'object', properties: answers.schema, 'x-kubernetes-validations': [rule] },
  },
})

/** The messages at one rule, without the rule that they repeat. */
const said = (rule: string): string[] =>
  validateRules(schemaWith({ rule, message: 'm' }), 'schema')
    .filter(({ field, body }) => field.endsWith('.rule') && !body.includes('contributed to'))
    .map(({ body }) => body.replace(/^Invalid value: \{.*?\}: /s, ''))

t.test('an expression is refused for the same reasons at the same places', (t) => {
  for (const [rule, messages] of Object.entries(answers.refused)) t.same(said(rule), messages, rule)
  t.end()
})

const spec = {
  s: 'héllo wörld',
  i: 7,
  n: 2.5,
  b: true,
  l: ['b', 'a', 'c'],
  li: [3, 1, 2],
  m: { x: '1', y: '2' },
  o: { a: 1, 'b-c': 'q' },
  d: '2024-02-29T12:34:56.789Z',
  u: '1h30m5s',
  y: 'aGVsbG8=',
  x: '50%',
  st: ['p', 'q'],
  ml: [
    { k: 'a', v: 1 },
    { k: 'b', v: 2 },
  ],
}

t.test('an expression has the same value, or ends in the same error', (t) => {
  for (const [expression, answer] of Object.entries(answers.values)) {
    const shown = `'%s'.format([${expression}])`
    const rule = { rule: `${shown} == 'no such text'`, messageExpression: shown, message: 'm' }
    const [error] = makeRuleChecker(schemaWith(rule))!.check({ spec }, undefined)
    t.equal(error?.body, answer, expression)
  }
  t.end()
})

t.test('texts in errors are quoted as by %q', (t) => {
  const rules = {
    "semver('1.2.3+a\\u0007b').major()": String.raw`build meta data "a\ab"`,
    "semver('1.2\\u0007.3').major()": String.raw`minor number "2\a"`,
    "timestamp(self.d).getHours('\\u000705:00')": String.raw`strconv.Atoi: parsing "\a05"`,
  }
  for (const [expression, text] of Object.entries(rules)) {
    const rule = { rule: `${expression} == 1`, message: 'm' }
    const [error] = makeRuleChecker(schemaWith(rule))!.check({ spec }, undefined)
    t.ok(error?.body.includes(text), `${expression}: ${error?.body}`)
  }
  t.end()
})

const tenTimes = (expression: string, loops: number): string =>
  loops === 0
    ? expression
    : `[0,1,2,3,4,5,6,7,8,9].all(v${loops}, ${tenTimes(expression, loops - 1)})`

t.test('an expression is estimated at the same cost', (t) => {
  for (const [expression, [loops, factor]] of Object.entries(answers.costs)) {
    const [message = ''] = said(tenTimes(`type(${expression}) == int`, loops))
    t.match(message, `estimated rule cost exceeds budget by factor of ${factor} (`, expression)
  }
  t.end()
})
