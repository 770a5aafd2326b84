/** Expressions of policies are refused in kube-apiserver's words; the texts are answers of v1.36.3. */
import t from 'tap'
import { compilePolicyExpression, results } from '#cel/policy-environment.js'
import { type Type, types, typeText } from '#cel/types.js'

const beginnings =
  "expecting {'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}"

/** Expression, column (from 1) and message. */
const refused: readonly (readonly [string, number, string])[] = [
  ['object.x.', 10, "Syntax error: no viable alternative at input '.'"],
  ['1 +', 4, `Syntax error: mismatched input '<EOF>' ${beginnings}`],
  ['!', 2, `Syntax error: extraneous input '<EOF>' ${beginnings}`],
  [')', 1, `Syntax error: mismatched input ')' ${beginnings}`],
  ['(1', 3, "Syntax error: missing ')' at '<EOF>'"],
  ['[1', 3, "Syntax error: mismatched input '<EOF>' expecting {']', ','}"],
  ['a b', 3, "Syntax error: extraneous input 'b' expecting <EOF>"],
  ['object.x == 1 and true', 15, "Syntax error: mismatched input 'and' expecting <EOF>"],
  ['foo(1)', 4, "undeclared reference to 'foo' (in container '')"],
  ['params.x', 1, "undeclared reference to 'params' (in container '')"],
  ['request.foo == "a"', 8, "undefined field 'foo'"],
  ['namespaceObject.metadata.foo == 1', 25, "undefined field 'foo'"],
  ['variables.zz', 10, "undefined field 'zz'"],
  ["variables.a == 'x'", 13, "found no matching overload for '_==_' applied to '(int, string)'"],
  ['1 && true', 1, "expected type 'bool' but found 'int'"],
  ['!1', 1, "found no matching overload for '!_' applied to '(int)'"],
  ["'a' in [1]", 5, "found no matching overload for '@in' applied to '(string, list(int))'"],
  ['size(1)', 5, "found no matching overload for 'size' applied to '(int)'"],
  [
    "'a'.startsWith(1)",
    15,
    "found no matching overload for 'startsWith' applied to 'string.(int)'",
  ],
  ['has(a)', 5, 'invalid argument to has() macro'],
]

const names = { params: false, variables: new Map<string, Type>([['a', types.int]]) }

for (const [text, column, message] of refused)
  t.test(`${text} is refused at column ${column}`, (t) => {
    const pointer = `\n | ${text}\n | ${'.'.repeat(column - 1)}^`
    const error = `compilation failed: ERROR: <input>:1:${column}: ${message}${pointer}`
    t.equal(compilePolicyExpression(text, names, results.boolean).error, error)
    t.end()
  })

t.test(
  'the result must have the wanted type, and what is selected off an untyped object has none',
  (t) => {
    const wanted = (text: string, kind: 'boolean' | 'textOrNull') =>
      compilePolicyExpression(text, names, results[kind]).error
    t.equal(wanted('1', 'boolean'), 'must evaluate to bool but got int')
    t.equal(wanted('object.metadata.name', 'boolean'), 'must evaluate to bool but got dyn')
    t.equal(wanted('request.kind.kind', 'boolean'), 'must evaluate to bool but got string')
    t.equal(wanted('1', 'textOrNull'), 'must evaluate to one of [string null_type] but got int')
    t.equal(wanted("request.operation == 'CREATE' || object.x > variables.a", 'boolean'), undefined)
    t.end()
  },
)

t.test('what is wrong behind an operand that makes no sense is told, too', async (t) => {
  const missing = (input: string) => `mismatched input '${input}' ${beginnings}`
  const texts: Record<string, [number, string][]> = {
    ') + (': [
      [1, missing(')')],
      [6, missing('<EOF>')],
    ],
    'has { && + ==': [
      [7, "mismatched input '&&' expecting {'}', ',', '?', IDENTIFIER, ESC_IDENTIFIER}"],
      [10, missing('+')],
      [12, missing('==')],
      [14, missing('<EOF>')],
    ],
    '! < ? a': [
      [3, `extraneous input '<' ${beginnings}`],
      [5, `extraneous input '?' ${beginnings}`],
    ],
  }
  for (const [text, problems] of Object.entries(texts)) {
    const { error = '' } = compilePolicyExpression(text, names, results.boolean)
    const told = error.matchAll(/ERROR: <input>:1:(\d+): Syntax error: (.*)/g)
    t.same(
      [...told].map(([, column, message]) => [Number(column), message]),
      problems,
      text,
    )
  }
})

t.test('of a type that doubles with each variable as much is known as is kept', async (t) => {
  const variables = new Map<string, Type>([['v0', types.int]])
  const compile = (text: string) =>
    compilePolicyExpression(text, { params: false, variables }, results.anything)
  for (let i = 0; i < 40; i++)
    variables.set(`v${i + 1}`, compile(`{variables.v${i}: variables.v${i}}`).type)
  t.equal(typeText(variables.get('v2')!), 'map(map(int, int), map(int, int))')
  t.ok(typeText(variables.get('v40')!).length < 1000)
})
