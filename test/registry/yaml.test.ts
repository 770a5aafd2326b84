/** YAML as sigs.k8s.io/yaml reads it; messages as kube-apiserver v1.36 answered with them. */
import t from 'tap'
import { YamlSyntaxError } from '#registry/yaml/messages.js'
import { parseYaml } from '#registry/yaml/yaml.js'

const read = (text: string | Buffer): unknown => {
  try {
    const { value, duplicates } = parseYaml(text)
    return duplicates.length === 0 ? value : { value, duplicates }
  } catch (error) {
    if (error instanceof YamlSyntaxError) return error.message
    throw error
  }
}

t.test('values are what goyaml.v2 makes of them', (t) => {
  for (const [text, value] of [
    [
      '{a: 0o17, b: 017, c: 0x10, d: 1_0, e: +5, f: 0b11}',
      { a: 15, b: 15, c: 16, d: 10, e: 5, f: 3 },
    ],
    [
      '{a: 1e18, b: 1.50, c: 2020-01-01, d: 12:30:45}',
      { a: 10n ** 18n, b: 1.5, c: '2020-01-01', d: '12:30:45' },
    ],
    [
      '{a: 9223372036854775808, b: !!str 1, c: !!binary aGk=, d: !custom x}',
      { a: 2n ** 63n, b: '1', c: 'hi', d: 'x' },
    ],
    ['a: !!hasOwnProperty x', { a: 'x' }],
    ['a: 1e400', { a: '1e400' }],
    [
      '{a: ., b: -., c: ._1, d: .5, e: 1_0.5, f: 0o_, g: .1_0, h: .1__0}',
      { a: '.', b: '-.', c: '._1', d: 0.5, e: 10.5, f: '0o_', g: 0.1, h: '.1__0' },
    ],
    ['{yes: on, 0x10: ~, 1.5: off}', { true: true, 16: null, '1.5': false }],
    ['{a: 0X1F, b: -0B11, c: 0O17, d: 0X, e: 0O8}', { a: 31, b: -3, c: 15, d: '0X', e: '0O8' }],
    [
      '{.inf: a, -.INF: b, .NaN: c, 1e20: d, 0.1: e, 18446744073709551616: f}',
      { '.inf': 'a', '-.inf': 'b', '.nan': 'c', '1e+20': 'd', '0.1': 'e', '1.8446744e+19': 'f' },
    ],
    ['{1: a, "1": b, 1.0: c, true: d, "true": e}', { 1: 'c', true: 'e' }],
    [
      '{1: a, 0x1: b, yes: c, true: d}',
      {
        value: { 1: 'b', true: 'd' },
        duplicates: ['line 1: key 1 already set in map', 'line 1: key true already set in map'],
      },
    ],
    ['a: &a 1\nb: &a 2\nc: *a', { a: 1, b: 2, c: 2 }],
    ['a: &a [&b 1]\nb: &b 2\nc: *a\nd: *b', { a: [1], b: 2, c: [1], d: 2 }],
    ['{!!merge <<: {a: 1}, !!str <<: 2}', { a: 1, '<<': 2 }],
    ['a: |\n  b', { a: 'b' }],
    ['a: >\n  b\n  c\n ', { a: 'b c\n' }],
    ['a: |+\n  b', { a: 'b' }],
    [
      'a: &a {k: v}\nb: *a\nc: {<<: *a, j: w}',
      { a: { k: 'v' }, b: { k: 'v' }, c: { k: 'v', j: 'w' } },
    ],
    [
      '{a: 1, b: {c: 2, c: 3}, a: 4}',
      {
        value: { a: 4, b: { c: 3 } },
        duplicates: ['line 1: key "c" already set in map', 'line 1: key "a" already set in map'],
      },
    ],
    // The line is that in which the second value begins, its anchor and tag included.
    [
      'a: 1\na:\n\n  b: 2\nc:\nc: # d\n  - e\n',
      {
        value: { a: { b: 2 }, c: ['e'] },
        duplicates: ['line 4: key "a" already set in map', 'line 7: key "c" already set in map'],
      },
    ],
    [
      'a: 1\na: !!str # &b\n  c\nd: 1\nd:\n  &e\n  f\ng: 1\ng:\nh: 1\n',
      {
        value: { a: 'c', d: 'f', g: null, h: 1 },
        duplicates: [
          'line 2: key "a" already set in map',
          'line 6: key "d" already set in map',
          'line 9: key "g" already set in map',
        ],
      },
    ],
    // Within quotes and brackets nobody looks at indentation, and a comment begins right behind a token, too.
    ['a:\n  b: "c\nd"\n  e: \'f\n\n g\'\n', { a: { b: 'c d', e: 'f\ng' } }],
    ['- a: "b\\\n  c"\n  d: "e\n---f\n# g"\n', [{ a: 'bc', d: 'e ---f # g' }]],
    [
      'a:\n  - b: {c: "d",\ne: [f,\ng\n]\n}\n    h: i\n',
      { a: [{ b: { c: 'd', e: ['f', 'g'] }, h: 'i' }] },
    ],
    ['a: "b"#c\nd: [e]#f\ng: |#h\n  i\n', { a: 'b', d: ['e'], g: 'i\n' }],
    // Within brackets a dash is a text, a colon ends one only before a blank, and a question mark begins a key.
    ['a: [cat, -]\nb: {c: -, "d":e}\n', { a: ['cat', '-'], b: { c: '-', d: 'e' } }],
    ['a: [b:, http://x]\nc: {d:,?e: f}\n', { a: ['b:', 'http://x'], c: { 'd:': null, e: 'f' } }],
    ['a:\n- b\t\n- c -\td\n- |\n  -\te\n', { a: ['b', 'c -\td', '-\te\n'] }],
    ['- ""  : a\n  b: \tc\n', [{ '': 'a', b: 'c' }]],
    [
      '{? a\n  b : c, d:\n e, f\n, "g":\n h, i\n j}',
      { 'a b': 'c', d: 'e', f: null, g: 'h', 'i j': null },
    ],
    ['a: [!!str , "b": , c]\n', { a: ['', { b: null }, 'c'] }],
    [
      'a: {<<: [{k: v}, {k: w}]}',
      { value: { a: { k: 'v' } }, duplicates: ['line 1: key "k" already set in map'] },
    ],
  ] as const)
    t.same(read(text), value, text)
  t.end()
})

t.test('only the first document of a stream is read', (t) => {
  for (const text of [
    'a: 1\n---\n[broken',
    'a: 1\n...\ngarbage: [\n',
    '--- {a: 1}\n---\nb: 2\n',
    '{a: 1} trailing',
    '{a: 1}\n}\n',
  ])
    t.same(read(text), { a: 1 }, text)
  t.same(parseYaml('  a: 1\nb: [\n').value, { a: 1 }, 'which ends where a line begins further out')
  t.same(parseYaml(' - a\nb: c\n').value, ['a'])
  t.same(parseYaml('?a\n: b\n').value, '?a', 'and no text goes on with a colon')
  t.end()
})

t.test('what is no YAML is refused in the words of Go', (t) => {
  for (const [text, message] of [
    ['a: b: c', 'yaml: mapping values are not allowed in this context'],
    ['a: b\n c\n d: e\n', 'yaml: line 3: mapping values are not allowed in this context'],
    ['a:\n  b: c\n   d: e\n', 'yaml: line 3: mapping values are not allowed in this context'],
    ['x: 1\na: ? b\n', 'yaml: line 2: mapping keys are not allowed in this context'],
    ['x: 1\na: - b\n', 'yaml: line 2: block sequence entries are not allowed in this context'],
    ['x: 1\na: "b" c\n', 'yaml: line 1: did not find expected key'],
    ['x: 1\na: ]\n', 'yaml: line 1: did not find expected node content'],
    ['x: 1\na: |x\n  y\n', 'yaml: line 2: did not find expected comment or line break'],
    ['x: 1\na: |0\n  y\n', 'yaml: line 2: found an indentation indicator equal to 0'],
    ['x: 1\na: *\n', 'yaml: line 2: did not find expected alphabetic or numeric character'],
    ['a: {b: c\n', "yaml: line 1: did not find expected ',' or '}'"],
    ['a: [b\n', "yaml: line 1: did not find expected ',' or ']'"],
    ['a: [\n', 'yaml: line 1: did not find expected node content'],
    ['a: [', 'yaml: line 1: did not find expected node content'],
    ['{"a":', 'yaml: line 1: did not find expected node content'],
    ['a:\n  b: c\n d: e\n', 'yaml: line 2: did not find expected key'],
    ["a: 'b\n", 'yaml: line 2: found unexpected end of stream'],
    ['--- # x\na: "b\n---\nc"\n', 'yaml: line 3: found unexpected document indicator'],
    ["b: 1\na: 'b\n...\n", 'yaml: line 3: found unexpected document indicator'],
    ['b: 1\na: | x\n', 'yaml: line 2: did not find expected comment or line break'],
    ['a: b\nc\n', "yaml: line 3: could not find expected ':'"],
    ['\ufeffa: 1\nb: [c\n', "yaml: line 2: did not find expected ',' or ']'"],
    ['a:\n- \tb\n', 'yaml: line 2: found character that cannot start any token'],
    ['- -\t# b\n', 'yaml: found character that cannot start any token'],
    ['a: 1\n?\tb\n: c\n', 'yaml: line 2: found character that cannot start any token'],
    ['a: -\tb\n', 'yaml: block sequence entries are not allowed in this context'],
    ['a:\n- : b\n', 'yaml: line 1: did not find expected key'],
    ['a: 1\n: b\n', 'yaml: line 1: did not find expected key'],
    ['{a: 1,\n : b}\n', 'yaml: line 1: did not find expected node content'],
    ['a: [b, c\nd: e\n', "yaml: line 1: did not find expected ',' or ']'"],
    ['a: 1\nb:\n  c: {d: e\nf: g\n', "yaml: line 3: did not find expected ',' or '}'"],
    ['{a: 1,\n "b\nc": 2}', "yaml: line 2: did not find expected ',' or '}'"],
    ['{"a" # b\n  : 1}', "yaml: line 1: did not find expected ',' or '}'"],
    ['[{a\n b: c}]\n', "yaml: line 1: did not find expected ',' or '}'"],
    ['a: 1\nb\n  c: d\n', "yaml: line 3: could not find expected ':'"],
    ['a: 1\n"b\nc": d\n', "yaml: line 3: could not find expected ':'"],
    ['a: 1\n!!str b\n  c: d\n', "yaml: line 3: could not find expected ':'"],
    ['- a: 1\n  b\n  c: d\n', "yaml: line 3: could not find expected ':'"],
    ['---\nb\nc: d\n', 'yaml: line 3: mapping values are not allowed in this context'],
    ['a: b\n  c: d\n', 'yaml: line 2: mapping values are not allowed in this context'],
    ['a:\n  b\n  c: d\n', 'yaml: line 3: mapping values are not allowed in this context'],
    ['a: !!str b\n  "c": d\n', 'yaml: line 2: mapping values are not allowed in this context'],
    ['a:\n  b: x\n  - c: d\n', 'yaml: line 2: did not find expected key'],
    ['a:\n  b:\n- c: d\n  e: f\n', 'yaml: line 2: did not find expected key'],
    ['a: 1\nb: "\\q"\n', 'yaml: line 2: found unknown escape character'],
    ['a: 1\nb: @x\n', 'yaml: line 2: found character that cannot start any token'],
    ['a:\n\t- b\n', 'yaml: line 2: found character that cannot start any token'],
    ['a: b\n\tc: d\n', 'yaml: line 2: found a tab character that violates indentation'],
    ['%YAML 1.2\n---\na: 1\n', 'yaml: found incompatible YAML document'],
    ['%FOO bar\n---\na: 1\n', 'yaml: found unknown directive name'],
    ['a: *n', "yaml: unknown anchor 'n' referenced"],
    ['a: &a {b: *a}', "yaml: anchor 'a' value contains itself"],
    ['a: {<<: x}', 'yaml: map merge requires map or sequence of maps as the value'],
    ['? [a]\n: b\n', 'yaml: invalid map key: []interface {}{"a"}'],
    ['{~: b}', 'unsupported map key of type: %!s(<nil>), key: <nil>, value: "b"'],
    [
      '{18446744073709551615: b}',
      'unsupported map key of type: uint64, key: 0xffffffffffffffff, value: "b"',
    ],
    [
      '? {z: 12345678.5, a: 18446744073709551615, m: [true, ~, 5]}\n: b',
      'yaml: invalid map key: map[interface {}]interface {}{"a":0xffffffffffffffff, "m":[]interface {}{true, interface {}(nil), 5}, "z":1.23456785e+07}',
    ],
    ['a: &a {b: c}\n*a : d', 'yaml: invalid map key: map[interface {}]interface {}{"b":"c"}'],
    ['a: !!int x', 'yaml: cannot decode !!str `x` as a !!int'],
    ['a: !!int 1.5', 'yaml: cannot decode !!float `1.5` as a !!int'],
    ['a: !!int', 'yaml: cannot decode !!null `` as a !!int'],
    ['a: &a [*a]', "yaml: anchor 'a' value contains itself"],
    ['a: {<<: [[{b: c}]]}', 'yaml: map merge requires map or sequence of maps as the value'],
    ['a: "\\/"', 'yaml: found unknown escape character'],
    ['a:\n  b: [c]]\n', 'yaml: line 1: did not find expected key'],
    ['\ta: b', 'yaml: found character that cannot start any token'],
    ['# c\n \t\na: b', 'yaml: line 2: found character that cannot start any token'],
    ['%YAML 1.1\na: b', 'yaml: line 1: did not find expected <document start>'],
    [`${'k'.repeat(1025)}: 1`, "yaml: could not find expected ':'"],
    ['a: !!binary "!!"', 'yaml: !!binary value contains invalid base64 data'],
    ['a: -.inf', 'json: unsupported value: -Inf'],
    ['a: \u0007', 'yaml: control characters are not allowed'],
    ['a:\n  "x\\ud83d\\ude00"', 'yaml: line 2: found invalid Unicode character escape code'],
    ['{"a": "\\ud83d\\ude00"}', 'yaml: found invalid Unicode character escape code'],
    ['{a:{b: c}}', "yaml: did not find expected ',' or '}'"],
    ['{a?b: c}', "yaml: did not find expected ',' or '}'"],
    ['{a: {b: c}', "yaml: line 1: did not find expected ',' or '}'"],
  ] as const)
    t.equal(read(text), message, text)
  t.end()
})

t.test(
  'aliases may give as much as upstream lets them, but no short text becomes a large value',
  (t) => {
    const excessive = 'yaml: document contains excessive aliasing'
    const list = (item: string, times: number) => `[${`${item},`.repeat(times)}]`
    const given = (item: string, times: number) => read(`a: &a ${item}\nb: ${list('*a', times)}`)
    t.type(given('x', 5_000), 'object')
    t.type(given(list('x', 50), 400), 'object')
    t.equal(given(list('x', 300), 300), excessive)
    t.equal(given('x'.repeat(100_000), 100), excessive)
    t.end()
  },
)

t.test('UTF-16 is told by its mark, and the line ends of other systems are line ends', (t) => {
  const utf16 = Buffer.from('\ufeffa: é\n', 'utf16le')
  t.same(read(utf16), { a: 'é' })
  t.same(read(Buffer.from(utf16).swap16()), { a: 'é' })
  t.equal(read(utf16.subarray(0, -1)), 'yaml: incomplete UTF-16 character')
  t.same(read(Buffer.from('a: |\r  b\r\n  c\rd: e\x85')), { a: 'b\nc\n', d: 'e' })
  t.end()
})

t.test('bytes that are no UTF-8 are refused', (t) => {
  for (const [bytes, message] of [
    [[0xff], 'invalid leading UTF-8 octet'],
    [[0xc0, 0x80], 'invalid length of a UTF-8 sequence'],
    [[0xe2, 0x82, 0x22], 'invalid trailing UTF-8 octet'],
    [[0xed, 0xa0, 0x80], 'invalid Unicode character'],
    [[0xe2, 0x82], 'incomplete UTF-8 octet sequence'],
  ] as const)
    t.equal(read(Buffer.concat([Buffer.from('a: '), Buffer.from(bytes)])), `yaml: ${message}`)
  t.same(read(Buffer.from('a: "\ufeff\u{1f600}"')), { a: '\ufeff\u{1f600}' })
  t.end()
})

t.test('nesting that would run out of stack is refused before it is composed', (t) => {
  for (const depth of [1_000, 20_000, 100_000])
    for (const text of [
      '['.repeat(depth),
      '{a: '.repeat(depth),
      '- '.repeat(depth),
      `${'['.repeat(depth)}${']'.repeat(depth)}`,
    ])
      t.match(read(text), /exceeded max depth/, `${text.slice(0, 4)} ${depth}`)
  t.same(JSON.stringify(read('['.repeat(200) + ']'.repeat(200))), '['.repeat(200) + ']'.repeat(200))
  t.end()
})
