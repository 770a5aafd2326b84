/** What expressions yield, as rules of v1.36.3 answered. */
import t, { type Test } from 'tap'
import { makeRuleChecker } from '#crd/rules/check-rules.js'
import type { StructuralSchema } from '#crd/structural-schema.js'

const text = { type: 'string' }
const properties = {
  l: { type: 'array', items: { type: 'integer' } },
  m: { type: 'object', additionalProperties: text },
  set: { type: 'array', 'x-kubernetes-list-type': 'set', items: text },
  o: {
    type: 'object',
    'x-kubernetes-preserve-unknown-fields': true,
    properties: { 'a-b': text, namespace: text, none: { ...text, nullable: true } },
  },
  d: { type: 'string', format: 'duration' },
  w: { type: 'string', format: 'duration' },
}
const self = {
  l: [3, 1],
  m: { x: '1' },
  set: ['x', 'y'],
  o: { 'a-b': 'x', namespace: 'n', none: null, unknown: 1 },
  d: '2 days',
  w: '1 Week and 3 mins',
}

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
const noOverload =
  "'no such overload': call arguments did not match a supported operator, function or macro signature"

t.test('lists and maps with a schema are asked for what it says, and stay so when they grow', (t) =>
  answers(t, [
    ['dyn(self.l)[0]', '= 3'],
    ['dyn(self.l)[1.0]', 'unsupported index: 1'],
    ['dyn(self.l)[1u]', 'unsupported index: 1'],
    ['dyn(self.l)[9.0]', 'index out of bounds: 9'],
    ['dyn(self.l)[?1.0].hasValue()', '= true'],
    ['dyn([3, 1])[1.0]', '= 1'],
    ['dyn(self.m)[1]', noOverload],
    ["dyn({'x': '1'})[1]", 'no such key: 1'],
    ['self.set + ["z"]', noOverload],
    ['["z"] + self.set', '= ["z", "x", "y"]'],
  ]),
)

t.test('the last value of a key that a literal names twice counts', (t) =>
  answers(t, [['{1: "a", 1: "b"}', '= {1:"b"}']]),
)

t.test('a literal takes keys of any type', (t) =>
  answers(t, [
    ['{null: 1, null: 2} == {null: 2}', '= true'],
    ['{[1]: 1, [1]: 2}.size()', '= 2'],
    ['{[1]: 1} == {[1]: 1}', '= false'],
    ["{duration('1s'): 1}.size()", '= 1'],
  ]),
)

t.test(
  'numbers of different types are different keys, of which those of ints find one another',
  (t) =>
    answers(t, [
      ["{dyn(1): 'a', dyn(1u): 'b', dyn(1.0): 'c'}.size()", '= 3'],
      ["{dyn(1): 'a', dyn(1.0): 'c'}[1]", '= a'],
      ["{dyn(1u): 'a'}[1]", '= a'],
      ["{dyn(1): 'a'}[1.0]", '= a'],
      ["1 in {dyn(1.0): 'a'}", '= false'],
      ['{dyn(0.0/0.0): 1, dyn(0.0/0.0): 2}.size()', '= 2'],
    ]),
)

t.test('what may be missing takes an entry away that was there before', (t) =>
  answers(t, [["{'a': 1, ?'a': optional.none()}.size()", '= 0']]),
)

t.test('what nobody can compare is not equal by itself, and equal as a part', (t) =>
  answers(t, [
    ["quantity('1') == dyn(1)", noOverload],
    ["quantity('1') != dyn(1)", '= true'],
    ['dyn(self.l) != dyn(1)', '= true'],
    ["[quantity('1')] == [dyn(1)]", '= true'],
    ["{'a': quantity('1')} == {'a': dyn(1)}", '= true'],
    ['[self.l] == [dyn(1)]', '= true'],
  ]),
)

t.test('nobody asks what is looked for in nothing, and for a value that no one names', (t) =>
  answers(t, [
    ['1/0 in []', '= false'],
    ['1/0 in [1]', 'division by zero'],
    ['optional.of(1/0).optMap(x, 2).value()', 'division by zero'],
    ['optional.of(1).optMap(x, 2).value()', '= 2'],
    ['dyn(9007199254740993) in [9007199254740992.0]', '= false'],
    ['dyn(9007199254740992) in [9007199254740992.0]', '= true'],
    ['5u in [dyn(5), dyn("a")]', '= true'],
    ['null in [null]', '= true'],
  ]),
)

t.test('keys are of some types only', (t) =>
  answers(t, [
    ["dyn(self.m)[[dyn(b'x')][0]]", 'invalid qualifier type: types.Bytes'],
    ["dyn(self.m)[[dyn(quantity('1'))][0]]", 'invalid qualifier type: cel.Quantity'],
    [
      'dyn(self.m)[null]',
      'rule compile error: program instantiation failed: invalid qualifier type: types.Null',
    ],
    ['has(dyn(self.l).y)', "unsupported index type 'string' in list"],
    ['has(dyn([1]).y)', "unsupported index type 'string' in list"],
    ['has(dyn("a").y)', '= false'],
  ]),
)

t.test('a list is sorted as far as its elements can be compared', (t) =>
  answers(t, [
    ['[0.0/0.0, 1.0].sort()', '= ["NaN", 1.000000]'],
    ['[2.0, 0.0/0.0, 1.0].isSorted()', '= true'],
    ['[2.0, 0.0/0.0, 3.0].max()', '= 3'],
    ["[dyn('a'), dyn(1)].max()", '= a'],
    ['[dyn([1]), dyn([2])].sort()', 'list elements must be comparable'],
    ['dyn(1).sort()', noOverload],
    [
      'dyn(1).distinct()',
      "'no such overload: distinct(int)': call arguments did not match a supported operator, function or macro signature",
    ],
  ]),
)

t.test('what is no optional is what its or yields, and one of nothing is something', (t) =>
  answers(t, [
    ['dyn(1).orValue(2)', '= 1'],
    ['optional.ofNonZeroValue(optional.none()).hasValue()', '= true'],
  ]),
)

t.test('an object with declared fields is as large as it is, and finds them by either name', (t) =>
  answers(t, [
    ['dyn(self.o).size()', '= 4'],
    ['dyn(self.o).map(k, k)', '= ["a__dash__b", "__namespace__", "none", null]'],
    ["dyn(self.o)['a-b']", '= x'],
    ["dyn(self.o)['a__dash__b']", '= x'],
    ["'a-b' in dyn(self.o)", '= true'],
    ["'none' in dyn(self.o)", '= false'],
    ["'__wrong__' in dyn(self.o)", '= false'],
    ["'%s'.format([dyn(self.o)])", 'error during formatting: could not find key: "none"'],
    ['dyn(self.o).transformList(k, v, v)', 'no such key: none'],
    ['optional.ofNonZeroValue(dyn(self.l).filter(x, false)).hasValue()', '= false'],
    ['optional.ofNonZeroValue(self.o).hasValue()', '= true'],
  ]),
)

t.test('durations and times', (t) =>
  answers(t, [
    ['self.d', '= 172800s'],
    ["self.d > duration('1h')", '= true'],
    ['self.w', '= 604980s'],
    ["timestamp('1960-01-01T00:00:00.123456789Z').getMilliseconds()", '= 123'],
    ["timestamp(0).getHours('america/new_york')", 'unknown time zone america/new_york'],
    ["timestamp(0).getHours('EUROPE/PARIS')", 'unknown time zone EUROPE/PARIS'],
    ["timestamp(0).getHours('US/Pacific')", '= 16'],
  ]),
)

t.test('URLs are compared by what is printed of them', (t) =>
  answers(t, [
    ["url('http://a?') == url('http://a')", '= false'],
    ["url('http://a/b%20c') == url('http://a/b c')", '= true'],
    ["url('http://a?x=%ff&y=%zz').getQuery().size()", '= 1'],
  ]),
)

t.test('of a quotient that is no int there is no remainder', (t) =>
  answers(t, [
    ['-9223372036854775808 % -1', 'integer overflow'],
    ['18446744073709551615u % 10u', '= 5'],
    [
      "cidr('10.0.0.0/99999999999999999999')",
      'network address parse error during conversion from string: network address parse error during conversion from string: netip.ParsePrefix("10.0.0.0/99999999999999999999"): bad bits after slash: "99999999999999999999"',
    ],
  ]),
)

t.test('numbers are printed and read as in Go', (t) =>
  answers(t, [
    ['"%.0f".format([0.5])', '= 0'],
    ['"%.0f".format([1.5])', '= 2'],
    ['"%.1f".format([0.25])', '= 0.2'],
    ['"%.1f".format([-0.75])', '= -0.8'],
    ['"%.2f".format([2.675])', '= 2.67'],
    ['"%.2f".format([1e22])', '= 10,000,000,000,000,000,000,000.00'],
    [
      '"%.103f".format([0.1])',
      `= 0.1000000000000000055511151231257827021181583404541015625${'0'.repeat(48)}`,
    ],
    ['"%.1000f".format([0.5])', `= 0.5${'0'.repeat(231)}`],
    ['"%.256f".format([1.0])', '= 1'],
    ['"%.2000000f".format([1.0])', `= 1.${'0'.repeat(128)}`],
    ['"%.10000010f".format([1.0])', '= %!(NOVERB)'],
    [
      'self.m["x"] + ("%" + ".9223372036854775808s").format([1])',
      'could not parse formatting clause: error while parsing precision: error while converting precision to integer: strconv.Atoi: parsing "9223372036854775808": value out of range',
    ],
    ['[0.0078125]', '= [0.007812]'],
    ['double("1_0.2_5e0_1")', '= 102.5'],
    ['double("0x1.8p1")', '= 3'],
  ]),
)

t.test('an int is compared with a double as the double next to it', (t) =>
  answers(t, [
    ['dyn(9007199254740993) == 9007199254740992.0', '= true'],
    ['9007199254740993 > 9007199254740992.0', '= false'],
    ['18446744073709551615u < 18446744073709551616.0', '= false'],
    ['9007199254740993 > 9007199254740992', '= true'],
    ['dyn(double("NaN")) == double("NaN")', '= false'],
    ['[double("NaN")] == [double("NaN")]', '= false'],
  ]),
)

t.test('a float of a quantity is an integer and a power of ten', (t) =>
  answers(t, [
    ['quantity("0.3").asApproximateFloat()', '= 0.30000000000000004'],
    ['quantity("0.7").asApproximateFloat()', '= 0.7000000000000001'],
    ['quantity("0.3Ki").asApproximateFloat()', '= 307.20000000000005'],
    ['quantity("0.3").add(quantity("0.4")).asApproximateFloat()', '= 0.7000000000000001'],
    ['quantity("1e30").asApproximateFloat()', '= 1e+30'],
    ['quantity("3m").asApproximateFloat()', '= 0.003'],
    ['quantity("1.5Gi").asApproximateFloat()', '= 1.610612736e+09'],
    ['quantity("1Ei").asApproximateFloat()', '= 1.152921504606847e+18'],
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

t.test('a zone may be any number of hours away, and its name must be one', (t) =>
  answers(t, [
    ["timestamp(0).getHours('99999999999999:00')", '= 4'],
    ["timestamp(0).getFullYear('9999999:00')", '= 1941'],
    [
      "timestamp(0).getHours('9223372036854775808:00')",
      'strconv.Atoi: parsing "9223372036854775808": value out of range',
    ],
    ["timestamp(0).getHours('/etc/passwd')", 'time: invalid location name'],
    ["timestamp('1800-01-01T00:00:00Z').getSeconds('America/New_York')", '= 58'],
  ]),
)

t.test('the zone of the server has a name, too', (t) =>
  answers(t, [
    ["timestamp('2020-01-01T00:00:00Z').getDayOfYear('Local') in [0, 364]", '= true'],
    ["timestamp('2020-01-01T00:00:00Z').getHours('local')", 'unknown time zone local'],
  ]),
)

t.test('values in a list are printed as by Go', (t) =>
  answers(t, [
    ["['\\u2028\\u0000é']", '= ["\\u2028\\x00é"]'],
    ['[-0.0, 1.5]', '= [-0.000000, 1.500000]'],
    ['[1e22]', '= [10000000000000000000000.000000]'],
    ["duration('-2562047h47m16.854775808s')", '= -9223372036.854776s'],
    ["duration('1ns')", '= 0.000000001s'],
    ["[duration('-120ns')]", '= [duration("-0.00000012s")]'],
  ]),
)

t.test('durations overflow as the integers that they are', (t) =>
  answers(t, [
    ["timestamp('0001-01-01T00:00:00Z') - timestamp(1700000000)", 'integer overflow'],
    ["duration('2540400h') + duration('2540400h')", 'integer overflow'],
    ["timestamp(0) - duration('-2562047h47m16.854775808s')", 'integer overflow'],
  ]),
)

t.test('a float of a large quantity is one of its billionths', (t) =>
  answers(t, [
    ["quantity('12345678901234567890').asApproximateFloat() == 12345678901234569216.0", '= true'],
  ]),
)
