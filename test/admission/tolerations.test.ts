/** Tolerations that others cover, found by looking at each for each (kubernetes, pkg/util/tolerations). */
import t from 'tap'
import { areAllowed, mergeTolerations } from '#admission/tolerations.js'
import type { Toleration } from '#validation/toleration.js'
import { seededRandom } from '../seeded-random.js'

const isSame = (a: Toleration, b: Toleration): boolean => JSON.stringify(a) === JSON.stringify(b)

const isSuperset = (wide: Toleration, narrow: Toleration): boolean => {
  if (isSame(wide, narrow)) return true
  if (wide.key !== narrow.key && (wide.key || wide.operator !== 'Exists')) return false
  if (wide.effect && wide.effect !== narrow.effect) return false
  const { tolerationSeconds: most = Infinity } = wide
  if (wide.effect === 'NoExecute' && (narrow.tolerationSeconds ?? Infinity) > most) return false
  if (wide.operator === 'Exists') return true
  if (wide.operator && wide.operator !== 'Equal') return false
  return narrow.operator === 'Equal' && narrow.value === wide.value
}

const merged = (all: readonly Toleration[]): Toleration[] => {
  const kept: Toleration[] = []
  for (const [i, one] of all.entries())
    if (
      !kept.some((other) => isSuperset(other, one)) &&
      !all.slice(i + 1).some((other) => !isSame(other, one) && isSuperset(other, one))
    )
      kept.push(one)
  return kept
}

t.test('many at once are merged and compared as two are', async (t) => {
  const random = seededRandom(36)
  const oneOf = <T>(...choices: T[]): T => choices[Math.floor(random() * choices.length)]!
  const toleration = (): Toleration => {
    const operator = oneOf('Exists', 'Equal', 'Equal', undefined, 'Gt')
    const effect = oneOf('NoExecute', 'NoExecute', 'NoSchedule', undefined)
    const seconds = effect === 'NoExecute' ? oneOf(1, 2, 3, undefined) : undefined
    return JSON.parse(
      JSON.stringify({
        key: operator === 'Exists' ? oneOf('a', 'b', undefined) : oneOf('a', 'b'),
        operator,
        value: operator === 'Exists' ? undefined : oneOf('1', '2', undefined),
        effect,
        tolerationSeconds: seconds,
      }),
    )
  }
  const some = (): Toleration[] => Array.from({ length: oneOf(1, 2, 3, 5, 8) }, toleration)
  for (let round = 0; round < 3_000; round++) {
    const [all, allowed] = [some(), some()]
    const wanted = merged(all)
    const isAllowed = all.every((one) => allowed.some((wide) => isSuperset(wide, one)))
    if (!isSame(mergeTolerations(all) as Toleration, wanted as Toleration))
      t.same(mergeTolerations(all), wanted, JSON.stringify(all))
    if (areAllowed(all, allowed) !== isAllowed)
      t.equal(areAllowed(all, allowed), isAllowed, JSON.stringify([all, allowed]))
  }
  t.ok(areAllowed([toleration()], []), 'an empty list allows all')
})
