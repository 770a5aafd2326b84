/** What expressions cost when they are evaluated, as counted by cel-go v0.26.0 with kube-apiserver's environment. */
import t from 'tap'
import { checkExpression, programOf } from '#cel/compile.js'
import { Environment } from '#cel/environment.js'
import { fromJson } from '#cel/json-values.js'
import { types } from '#cel/types.js'

const environment = Environment.base.withVariables({ self: types.dyn })
const self = fromJson({ a: 1, l: [1, 2, 3], m: { x: 'y' }, s: 'abc' })

const costs: Record<string, number> = {
  'self.?a': 2,
  'self.?zz': 1,
  "self[?'zz']": 1,
  'self.?zz.y': 1,
  'self.?m.y': 2,
  'self.l[?5]': 2,
  'self.l[?self.a + 5]': 5,
  'has(self.?zz.x)': 0,
  'has((self.a == 1 ? self.m : self.m).x)': 4,
  "self.m[self.s == 'abc' ? 'x' : 'y']": 6,
  'self.a in [1, 2, 3, 4, 5]': 2,
  "b'a' in [b'a', b'b', b'c']": 3,
  '[null].exists(x, x in [null, null])': 8,
  'optional.of(1).optMap(x, 2).hasValue()': 4,
  '[1, 2, 3].sort()': 29,
  '[dyn(1), dyn(2)].sort()': 2,
  'self.l.sortBy(x, -x)': 48,
  "cidr('10.0.0.0/8').containsIP('10.1.2.3')": 3,
  "cidr('10.0.0.0/8').containsIP(dyn('10.1.2.3'))": 2,
  "matches(self.s, 'abcdefghi')": 3,
  "self.s.matches('abcdefghijklmnopqrst')": 7,
  'format.uuid() != format.uuid()': 3,
  "format.uuid().validate('x').hasValue()": 20,
  "format.date().validate('2020-01-01').hasValue()": 38,
  "format.uri().validate('http://a').hasValue()": 278,
}

t.test('an evaluation costs as much', (t) => {
  for (const [text, cost] of Object.entries(costs)) {
    const program = programOf(checkExpression(environment, text))
    t.equal(program((name) => (name === 'self' ? self : undefined), 1_000_000).cost, cost, text)
  }
  t.end()
})
