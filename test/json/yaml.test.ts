/** What kube-apiserver v1.36 answered `Accept: application/yaml` with. */
import fc from 'fast-check'
import t from 'tap'
import type { JsonValue } from '#json/value.js'
import { formatYaml } from '#json/yaml.js'
import { parseYaml } from '#registry/yaml/yaml.js'

t.test('a text is written as goyaml writes it', async (t) => {
  const words = 'word '.repeat(30).trim()
  const folded = `${'word '.repeat(15)}word\n  ${'word '.repeat(13)}word`
  for (const [text, written] of [
    ['a', 'a'],
    ['', '""'],
    ['yes', '"yes"'],
    ['1_000', '"1_000"'],
    ['_1', '_1'],
    ['-_0', '"-_0"'],
    ['1_e5', '"1_e5"'],
    ['0X_f', '"0X_f"'],
    ['0o8', '0o8'],
    ['0b-1', '"0b-1"'],
    ['0xffffffffffffffff', '"0xffffffffffffffff"'],
    ['0x10000000000000000', '0x10000000000000000'],
    ['+0x8000000000000000', '+0x8000000000000000'],
    ['-0x8000000000000000', '"-0x8000000000000000"'],
    ['12:30', '"12:30"'],
    ['1e308', '"1e308"'],
    ['1e999', '1e999'],
    ['.1_0', '".1_0"'],
    ['._1', '._1'],
    ['2001-02-28', '"2001-02-28"'],
    ['2001-02-30', '2001-02-30'],
    ['2001-02-28T00:00:00', '2001-02-28T00:00:00'],
    ['2001-02-28T00:00:00Z', '"2001-02-28T00:00:00Z"'],
    ['2001-02-28 24:00:00', '2001-02-28 24:00:00'],
    ['<<', '<<'],
    ['a: b', "'a: b'"],
    ['- a', "'- a'"],
    ['-a', '-a'],
    ['--- a', "'--- a'"],
    ["it's: x", "'it''s: x'"],
    ["it's", "it's"],
    ['a\tb', '"a\\tb"'],
    ['😀', '"\\U0001F600"'],
    ['ä', 'ä'],
    ['a\nb', '|-\n  a\n  b'],
    ['a\nb\n', '|\n  a\n  b'],
    ['a\n\n', '|+\n  a\n'],
    ['\na', '|2-\n\n  a'],
    ['a \nb', '"a \\nb"'],
    ['\u00a0a:\u3000b\u00a0#\u3000', '\u00a0a:\u3000b\u00a0#\u3000'],
    ['\ufeffa b', '"\\uFEFF\\x61\\x20\\x62"'],
    ['a\ufeffb', '"a\\uFEFFb"'],
    ["\u2028it's\u2029", "'\u2028  it''s\u2029'"],
    ['a\u2028\u2029b', "'a\u2028\u2029  b'"],
    ['a\u2028b\nc', '|-\n  a\u2028  b\n  c'],
    ['a\n\u2028b\n', '|\n  a\n\u2028  b'],
    ['\u2028\n', '|2+\n\u2028'],
    [words, folded],
    [`${words}: x`, `'${folded}: x'`],
  ])
    t.equal(formatYaml({ k: text! }), `k: ${written}\n`)
})

t.test('keys are in natural order, letters last', async (t) => {
  const keys = ['k10', 'k2', 'B', 'a', '1.0', '1e3', '_', '.', 'a-b', 'a.b', 'aB', 'ab', 'a1']
  const written = formatYaml(Object.fromEntries(keys.map((key) => [key, null])))
  const names = written.match(/^[^:\n]+/gm)!.map((key) => key.replaceAll(/["']/g, ''))
  t.same(names, ['.', '_', '1.0', '1e3', 'B', 'a', 'a-b', 'a.b', 'a1', 'aB', 'ab', 'k2', 'k10'])
})

t.test('lists of keys stand as far in as their keys', async (t) => {
  const value = {
    a: [{ b: [1, [2, []]], c: {} }, 1.5, 1e19, -1e19, -(2 ** 63), -(2n ** 63n), 1e21, 12345678.5],
    ['x'.repeat(130)]: 'y',
  }
  t.equal(
    formatYaml(value),
    `a:\n- b:\n  - 1\n  - - 2\n    - []\n  c: {}\n- 1.5\n- 10000000000000000000\n- -1e+19\n- -9.223372036854776e+18\n- -9223372036854775808\n- 1e+21\n- 1.23456785e+07\n? ${'x'.repeat(130)}\n: "y"\n`,
  )
})

t.test('what is written is read as the same', async () => {
  const text = fc.string({ unit: fc.constantFrom(...' \t\n:#-\'"\\,[]{}?!&*|>%@aZ09.~=ä') })
  const tree = fc.letrec<{ node: JsonValue }>((tie) => ({
    node: fc.oneof(
      { maxDepth: 3 },
      text,
      fc.integer(),
      fc.boolean(),
      fc.constant(null),
      fc.array(tie('node'), { maxLength: 3 }),
      fc.dictionary(text, tie('node'), { maxKeys: 3 }),
    ),
  })).node
  fc.assert(
    fc.property(fc.dictionary(text, tree, { maxKeys: 3 }), (value) => {
      const plain = JSON.parse(JSON.stringify(value))
      const { value: read } = parseYaml(Buffer.from(formatYaml(plain)))
      return JSON.stringify(sorted(read)) === JSON.stringify(sorted(plain))
    }),
    { numRuns: 500 },
  )
})

const sorted = (value: JsonValue): JsonValue => {
  if (Array.isArray(value)) return value.map(sorted)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.keys(value)
      .sort()
      .map((key) => [key, sorted(value[key]!)]),
  )
}
