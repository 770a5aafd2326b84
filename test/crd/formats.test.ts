/** Formats of custom resources' texts, as kube-apiserver 1.36.3 takes them. */
import t from 'tap'
import { matchesFormat } from '#crd/formats.js'

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
