/** Formats of custom resources' texts, as kube-apiserver 1.36.3 takes them. */
import t from 'tap'
import { matchesFormat } from '#crd/formats.js'
import { validateValue } from '#crd/validate-value.js'

t.test('an address of a device is divided one way or, since Go 1.26, not at all', (t) => {
  const bytes = (count: number): string[] => Array.from({ length: count }, () => 'aB')
  const pairs = (count: number): string[] => Array.from({ length: count / 2 }, () => 'aBaB')
  for (const count of [6, 8, 20])
    for (const text of [
      bytes(count).join(':'),
      bytes(count).join('-'),
      pairs(count).join('.'),
      bytes(count).join(''),
    ])
      t.ok(matchesFormat(text, 'mac'), text)
  for (const text of [
    ...['', 'aB', bytes(7).join(':'), bytes(7).join(''), 'aB:aB-aB:aB:aB:aB', 'aBaB.aBaBaBaB'],
    ...['aBaBaBaBaBaB:', 'gg:aB:aB:aB:aB:aB', 'aBaB:aBaB:aBaB'],
  ])
    t.notOk(matchesFormat(text, 'mac'), text)
  t.end()
})

t.test('spaces within are those of Go', (t) => {
  for (const [format, around] of [
    ['isbn', ['0306', '406152']],
    ['duration', ['1', 'day']],
    ['rgbcolor', ['rgb(1,', '2,3)']],
  ] as const) {
    t.ok(matchesFormat(around.join(' '), format), format)
    for (const other of ['\u00a0', '\v', '\ufeff'])
      t.notOk(matchesFormat(around.join(other), format))
  }
  t.end()
})

t.test('an address of mail may have a name, comments, or be the one of a group', (t) => {
  const good = [
    'a@b',
    'a@b.c',
    'A <a@b.c>',
    '<a@b.c>',
    '"A B" <a@b>',
    'A B <a@b>',
    ' a@b ',
    'a@b (comment)',
    '"a b"@c',
    'a@[1.2.3.4]',
    'A.B <a@b>',
    'ü@b',
    'a@ü',
    '=?utf-8?q?x?= <a@b>',
    'g: a@b;',
    '"a\\"b"@c',
    "a!#$%&'*+-/=?^_`{|}~@b",
    'a@-b',
    '"A" "B" <a@b>',
    'A\t<a@b>',
    '" "@b',
    `${'x'.repeat(65)}@b`,
  ]
  for (const text of good) t.ok(matchesFormat(text, 'email'), text)
  const bad = [
    'a',
    '',
    '@',
    'a@',
    '@b',
    'a@b@c',
    'a..b@c',
    '.a@b',
    'a.@b',
    'a@b.',
    'a@.b',
    'a@b, c@d',
    'a @b',
    '<a@b',
    'a@b>',
    'a\\@b@c',
    'A <>',
    'a(b)@c',
    'a@b c',
    'a@[IPv6:::1]',
    'a@[x]',
    'a,b <c@d>',
    'A <a@b> x',
    '(c) a@b',
    'a@b\n',
    '""@b',
  ]
  for (const text of bad) t.notOk(matchesFormat(text, 'email'), text)
  t.end()
})

t.test('a text without the format of its field is quoted as Go quotes it', (t) => {
  const [error] = validateValue('\0\u200b', { type: 'string', format: 'date' }, 'spec.day')
  const quoted = String.raw`"\x00\u200b"`
  t.equal(error?.body, `Invalid value: ${quoted}: spec.day in body must be of type date: ${quoted}`)
  t.end()
})

t.test('a time has a fraction behind any letter, and ends at a second T', async (t) => {
  const day = '2020-01-01T'
  for (const rest of [
    '00:00:00,5Z',
    '00:00:0055Z',
    '00:00:00é5Z',
    '00:00:00Ztrash',
    '00:00:00+01:00t',
  ])
    t.ok(matchesFormat(day + rest, 'datetime'), rest)
  for (const rest of [
    '00:00:005Z',
    '00:00:00\n5Z',
    '00:00:00.Z',
    '24:00:00ZT',
    '00:00:00Z\n',
    'T00:00:00Z',
  ])
    t.notOk(matchesFormat(day + rest, 'datetime'), rest)
})
