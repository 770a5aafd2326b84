/** What expressions yield, as rules of v1.36.3 answered. */
import t, { type Test } from 'tap'
import { makeRuleChecker } from '#crd/rules/check-rules.js'
import type { StructuralSchema } from '#crd/structural-schema.js'

const properties = {}
const self = {}

/** The value as `format` shows it, or why there is none. */
const yields = (expression: string): string => {
  const rule = `dyn(${expression}) == "never"`
  const messageExpression = `"= %s".format([${expression}])`
  const rules = [{ rule, messageExpression, message: 'not shown' }]
  const schema = { type: 'object', properties, 'x-kubernetes-validations': rules }
  return makeRuleChecker(schema as StructuralSchema)!
    .check(self, undefined)
    .map(({ body }) => body.replace(/^Invalid value: ("object": )?/, ''))
    .join()
}

const answers = async (t: Test, all: [string, string][]) => {
  for (const [expression, answer] of all)
    t.equal(yields(expression).replace(/ evaluating rule.*| for rule.*/, ''), answer, expression)
}

t.test('numbers are printed and read as in Go', (t) =>
  answers(t, [
    ['"%.0f".format([0.5])', '= 0'],
    ['"%.0f".format([1.5])', '= 2'],
    ['"%.1f".format([0.25])', '= 0.2'],
    ['"%.1f".format([-0.75])', '= -0.8'],
    ['"%.2f".format([2.675])', '= 2.67'],
    ['[0.0078125]', '= [0.007812]'],
    ['double("1_0.2_5e0_1")', '= 102.5'],
  ]),
)

t.test('what has no text is not printed', (t) =>
  answers(t, [
    ['{1.5: 1}', 'not shown'],
    [
      '"%s".format([b"\\xff"])',
      'error during formatting: could not convert argument "invalid UTF-8 in bytes, cannot convert to string" to string',
    ],
  ]),
)
