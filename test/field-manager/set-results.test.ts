/** Sets that are shared give what any sets give, whichever were met before. */
import fc from 'fast-check'
import t from 'tap'
import { jsonEqual } from '#json/object.js'
import {
  difference,
  type FieldSet,
  intersection,
  leaf,
  memberWith,
  recursiveDifference,
  union,
} from '#registry/field-manager/field-set.js'
import * as kept from '#registry/field-manager/set-results.js'
import { shareSet } from '#registry/field-manager/shared-sets.js'

const operations = [
  [union, kept.union],
  [intersection, kept.intersection],
  [difference, kept.difference],
  [recursiveDifference, kept.recursiveDifference],
] as const

const elements = fc.constantFrom('f:a', 'f:b', 'k:{"name":"x"}', 'k:{"name":"y"}', 'v:"z"')
const { node } = fc.letrec<{ node: FieldSet }>((tie) => ({
  node: fc.oneof(
    { maxDepth: 3 },
    fc.constant(leaf),
    fc
      .tuple(fc.dictionary(elements, tie('node'), { maxKeys: 3 }), fc.boolean())
      .map(([children, isMember]) => (isMember ? memberWith(children) : children)),
  ),
}))
/** A whole set is no member of itself. */
const fieldSet = fc.dictionary(elements, node, { maxKeys: 3 })

t.test('an operation on shared sets yields what it yields on any, again and again', async (t) => {
  fc.assert(
    fc.property(
      fc.array(fieldSet, { minLength: 2, maxLength: 4 }),
      fc.array(fc.tuple(fc.constantFrom(...operations), fc.nat(), fc.nat()), { maxLength: 30 }),
      (sets, calls) => {
        const shared = sets.map(shareSet)
        return calls.every(([[operation, keeping], i, j]) => {
          const [a, b] = [i % sets.length, j % sets.length]
          const expected = operation(sets[a]!, sets[b]!)
          return jsonEqual(keeping(shared[a]!, shared[b]!), expected)
        })
      },
    ),
  )
  t.pass()
})
