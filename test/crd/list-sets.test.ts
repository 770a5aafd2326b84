/** Lists of type set hold no item twice. */
import t from 'tap'
import { validateListSets } from '#crd/list-sets.js'
import type { JsonValue } from '#json/value.js'

const duplicatesOf = (list: JsonValue): string[] =>
  validateListSets(list, { type: 'array', 'x-kubernetes-list-type': 'set' }, 'l').map(
    ({ field }) => field,
  )

t.test('a large integer is not the text of its digits', async (t) => {
  const large = 9_007_199_254_740_993n
  t.same(duplicatesOf([large, String(large)]), [])
  t.same(duplicatesOf([large, String(large), large]), ['l[2]'])
})

t.test('objects are the same whatever the order of their keys', async (t) => {
  t.same(
    duplicatesOf([
      { a: 1, b: { c: 1, d: 2 } },
      { b: { d: 2, c: 1 }, a: 1 },
    ]),
    ['l[1]'],
  )
  t.same(duplicatesOf([{ a: 1 }, { a: '1' }, { b: 1 }]), [])
})
