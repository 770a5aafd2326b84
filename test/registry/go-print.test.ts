/** Values in errors, beside what Go 1.26 printed of them. */
import t from 'tap'
import { parse } from '#json/json.js'
import { goKindNameOf, goPrint, goPrintAsText, goSyntax, goTypeOf } from '#registry/go-print.js'

const list = '[]interface {}'
const map = 'map[string]interface {}'

/** JSON, %v, %s, %#v as a part of something, and its type and kind. */
const printed = [
  ['null', '<nil>', '%!s(<nil>)', 'interface {}(nil)', '%!s(<nil>)', ''],
  ['"a b"', 'a b', 'a b', '"a b"', 'string', 'string'],
  ['"q\\"\\n"', 'q"\n', 'q"\n', '"q\\"\\n"', 'string', 'string'],
  ['true', 'true', '%!s(bool=true)', 'true', 'bool', 'bool'],
  ['0', '0', '%!s(int64=0)', '0', 'int64', 'int64'],
  ['-7', '-7', '%!s(int64=-7)', '-7', 'int64', 'int64'],
  ['1.5', '1.5', '%!s(float64=1.5)', '1.5', 'float64', 'float64'],
  ['1e21', '1e+21', '%!s(float64=1e+21)', '1e+21', 'float64', 'float64'],
  ['1e-7', '1e-07', '%!s(float64=1e-07)', '1e-07', 'float64', 'float64'],
  ['[]', '[]', '[]', `${list}{}`, list, 'slice'],
  [
    '["x",1,null]',
    '[x 1 <nil>]',
    '[x %!s(int64=1) <nil>]',
    `${list}{"x", 1, interface {}(nil)}`,
    list,
    'slice',
  ],
  ['{}', 'map[]', 'map[]', `${map}{}`, map, 'map'],
  [
    '{"b":[1,"y"],"a":{"c":false,"d":null}}',
    'map[a:map[c:false d:<nil>] b:[1 y]]',
    'map[a:map[c:%!s(bool=false) d:<nil>] b:[%!s(int64=1) y]]',
    `${map}{"a":${map}{"c":false, "d":interface {}(nil)}, "b":${list}{1, "y"}}`,
    map,
    'map',
  ],
  [
    '9007199254740993',
    '9007199254740993',
    '%!s(int64=9007199254740993)',
    '9007199254740993',
    'int64',
    'int64',
  ],
] as const

t.test('as it is, as a text, as syntax, and what it is', async (t) => {
  for (const [text, plain, asText, syntax, type, kind] of printed) {
    const value = parse(text)
    const told = [goPrint(value), goPrintAsText(value), goSyntax(value), goTypeOf(value)]
    t.same(told, [plain, asText, syntax, type], text)
    if (value !== null) t.equal(goKindNameOf(value), kind)
  }
})
