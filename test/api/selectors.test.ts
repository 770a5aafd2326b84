import t from 'tap'
import {
  labelsRequired,
  matchesFields,
  matchesLabels,
  parseFieldSelector,
  parseLabelSelector,
  SelectorError,
} from '#api/selectors.js'

t.test('a label selector finds what it describes', async (t) => {
  const labels = { app: 'web', size: '10', in: 'x', empty: '' }
  for (const [text, matches] of [
    ['', true],
    ['app', true],
    ['!app', false],
    ['!absent,app=web', true],
    ['app==web,size!=9', true],
    ['absent!=x', true],
    ['app in (db, web)', true],
    ['app notin (db,web)', false],
    ['absent notin (a)', true],
    ['empty in ()', true],
    ['empty=', true],
    ['size>9', true],
    ['size<10', false],
    ['app>1', false],
    ['in in (in,x)', true],
    ['constructor', false],
  ] as const)
    t.equal(matchesLabels(parseLabelSelector(text), labels), matches, text)
  t.equal(matchesLabels(parseLabelSelector('!a'), undefined), true)
  t.same(
    [...labelsRequired(parseLabelSelector('b in (2),a=1,c,d!=1,e in (1,2)'))],
    [
      ['a', '1'],
      ['b', '2'],
    ],
  )
})

t.test('what is no label selector is refused in the words of the reference', async (t) => {
  for (const [text, message] of [
    ['a in x', "unable to parse requirement: found 'x' expected: '('"],
    ['a in (x', "unable to parse requirement: found '', expected: ',' or ')'"],
    ['a in (', "unable to parse requirement: found '', expected: ',', ')' or identifier"],
    ['=b', "found '=', expected: !, identifier, or 'end of string'"],
    ['a,', "found '', expected: identifier after ','"],
    ['a=b=c', "found '=', expected: ',' or 'end of string'"],
    ['a\0b', "unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, gt, lt"],
    ['a b', "unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, gt, lt"],
  ] as const)
    t.throws(() => parseLabelSelector(text), { constructor: SelectorError, message }, text)
  // Go knows four blanks, and takes a NUL for an end: of all, or of what is before it.
  t.throws(() => parseLabelSelector('a\u00a0b'), { message: /Invalid value: "a\\u00a0b": name/ })
  t.throws(() => parseLabelSelector('a=\vb'), { message: /Invalid value: "\\vb": a valid label/ })
  t.same(parseLabelSelector('a=\0b \0,'), parseLabelSelector('a=b'))
  t.throws(() => parseLabelSelector('-a'), {
    message: /^unable to parse requirement: <nil>: Invalid value: "-a": name part must/,
  })
  t.throws(() => parseLabelSelector('a>x'), {
    message: `unable to parse requirement: values[0]: Invalid value: "x": for 'Gt', 'Lt' operators, the value must be an integer`,
  })
})

t.test('a field selector splits, unescapes and matches', async (t) => {
  const of = (field: string) => ({ 'metadata.name': 'a,b=c\\', 'spec.x': '' })[field] ?? ''
  t.equal(matchesFields(parseFieldSelector('metadata.name=a\\,b\\=c\\\\,spec.x!=y'), of), true)
  t.equal(matchesFields(parseFieldSelector('spec.x==,,'), of), true)
  t.equal(matchesFields(parseFieldSelector('spec.x!='), of), false)
  t.throws(() => parseFieldSelector('metadata.name'), {
    message: "invalid selector: 'metadata.name'; can't understand 'metadata.name'",
  })
  t.throws(() => parseFieldSelector('a=\\x'), {
    message: 'invalid field selector: invalid escape sequence: \\x',
  })
  t.throws(() => parseFieldSelector('a=\\😀'), { message: /invalid escape sequence: \\😀$/ })
  t.throws(() => parseFieldSelector('a=b\\'), { message: /invalid escape sequence: \\$/ })
  t.throws(() => parseFieldSelector('a=b=c'), { message: /unescaped character in value: 61$/ })
})

t.test('a selector of as many symbols as a request may have is read once', (t) => {
  const commas = `a in (${','.repeat(900_000)})`
  t.same(parseLabelSelector(commas), [{ key: 'a', operator: 'in', values: [''] }])
  t.throws(() => parseLabelSelector('('.repeat(900_000)), { message: /^found '\(', expected: !/ })
  t.throws(() => parseLabelSelector('a=!=b'), { message: /found '!=', expected: identifier$/ })
  t.end()
})
