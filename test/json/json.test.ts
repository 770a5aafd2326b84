import fc from 'fast-check'
import t from 'tap'
import { parseInt64 } from '#json/int64.js'
import { JsonSyntaxError, parse, parseWithTrace, stringify } from '#json/json.js'

t.test('every JSON value survives, __proto__ keys and odd whitespace included', async (t) => {
  fc.assert(
    fc.property(fc.json({ maxDepth: 5 }), fc.constantFrom(undefined, 1, '\t'), (text, space) => {
      const spaced = JSON.stringify(JSON.parse(text), null, space)
      t.same(JSON.parse(stringify(parse(spaced))), JSON.parse(text))
    }),
    { numRuns: 200 },
  )
  t.ok(Object.hasOwn(parse('{"__proto__":1}') as object, '__proto__'))
  t.equal(
    stringify(parse('{"__proto__":{"a":1},"n":9007199254740993}')),
    '{"__proto__":{"a":1},"n":9007199254740993}',
  )
})

t.test('an int64 is exact, whatever its size', async (t) => {
  fc.assert(
    fc.property(fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }), (n) => {
      t.equal(stringify(parse(`{"a":[${n}]}`)), `{"a":[${n}]}`)
    }),
    { numRuns: 200 },
  )
  t.equal(
    parse('[9007199254740991]') !== null && stringify(parse('9007199254740991')),
    '9007199254740991',
  )
  t.same(parse('[18446744073709551616, 0.5, 1e3]'), [18446744073709552000, 0.5, 1000])
})

t.test('a text of an int64 is read as by Go, and one of digits without end is none', (t) => {
  const max = 2n ** 63n - 1n
  t.same(['0', '-0', '+5', '-007', `${max}`, `${-max - 1n}`].map(parseInt64), [
    0n,
    0n,
    5n,
    -7n,
    max,
    -max - 1n,
  ])
  for (const text of ['', '+', '1e3', '12a', `${max + 1n}`, `${-max - 2n}`])
    t.equal(parseInt64(text), undefined, text)
  const many = 200_000
  t.equal(parseInt64('9'.repeat(many)), undefined)
  t.equal(parseInt64(`${'0'.repeat(many)}x`), undefined)
  t.equal(parseInt64(`${'0'.repeat(many)}9`), 9n)
  t.end()
})

t.test('keys that come twice and numbers that Go reads as floats leave a trace', async (t) => {
  const { value, trace } = parseWithTrace(
    '{"a":{"k":1,"l":2,"k":3},"b":[1.0,1.5,1e400],"a2":"x:y"}',
  )
  t.same(value, { a: { k: 3, l: 2 }, b: [1, 1.5, Number.POSITIVE_INFINITY], a2: 'x:y' })
  const object = value as { a: object; b: object }
  t.same(trace?.entries.get(object.a), [
    ['k', 1],
    ['l', 2],
    ['k', 3],
  ])
  t.same(
    [...(trace?.literals.get(object.b) ?? [])],
    [
      [0, '1.0'],
      [2, '1e400'],
    ],
  )
  t.equal(parseWithTrace('{"a":{"k:":"\\\\"},"b":["\\"k\\":", 12345]}').trace, undefined)
})

t.test('a text that is no JSON is refused in the words of Go', async (t) => {
  for (const [text, message] of [
    ['', 'unexpected end of JSON input'],
    ['{"a":1,', 'unexpected end of JSON input'],
    ['{"a":"b', 'unexpected end of JSON input'],
    ['{} {"x":1}', "invalid character '{' after top-level value"],
    ['apiVersion: v1', "invalid character 'a' looking for beginning of value"],
    ['{a:1}', "invalid character 'a' looking for beginning of object key string"],
    ['{"a" 1}', "invalid character '1' after object key"],
    ['{"a":1 "b":2}', `invalid character '"' after object key:value pair`],
    ['[1 2]', "invalid character '2' after array element"],
    ['{"a":1,}', "invalid character '}' looking for beginning of object key string"],
    ['[1,]', "invalid character ']' looking for beginning of value"],
    ['["a\nb"]', "invalid character '\\n' in string literal"],
    ['["\\q"]', "invalid character 'q' in string escape code"],
    ['["\\u12g4"]', "invalid character 'g' in \\u hexadecimal character escape"],
    ['[-]', "invalid character ']' in numeric literal"],
    ['[1.]', "invalid character ']' after decimal point in numeric literal"],
    ['[1e]', "invalid character ']' in exponent of numeric literal"],
    ['[01]', "invalid character '1' after array element"],
    ['[tru]', "invalid character ']' in literal true (expecting 'e')"],
    ["['a']", "invalid character '\\'' looking for beginning of value"],
    ['[é]', "invalid character 'Ã' looking for beginning of value"],
    ['['.repeat(5000) + ']'.repeat(5000), 'exceeded max depth'],
  ] as const)
    t.throws(() => parse(text), { constructor: JsonSyntaxError, message }, text.slice(0, 20))
  const message = "invalid character '[' exceeded max depth"
  t.throws(() => parse('['.repeat(100_000)), { message }, 'before its end is missed')
  t.throws(() => parse('['.repeat(100)), { message: 'unexpected end of JSON input' })
})

t.test('what is written is what Go writes', async (t) => {
  t.equal(
    stringify({ a: '<b>&\u2028', n: 2n ** 60n, u: undefined }),
    '{"a":"\\u003cb\\u003e\\u0026\\u2028","n":1152921504606846976}',
  )
  t.equal(stringify(parse('"\\ud800x"')), '"\ufffdx"')
})
