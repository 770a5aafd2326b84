/** `x in [1, 2]` of a list that is written in the expression (cel-go, interpreter/decorators.go maybeOptimizeSetMembership). */
import { type CelValue, keyOf, Uint } from './values.js'

const isWhole = (value: number): boolean => Number.isInteger(value)

/** Numbers of other types that an element is found by. A double is by those that it is exactly. */
const likeOf = (element: CelValue): CelValue[] => {
  if (typeof element === 'bigint')
    return element < 0n ? [Number(element)] : [Number(element), new Uint(element)]
  if (element instanceof Uint) return [Number(element.value), element.value]
  if (typeof element !== 'number' || !isWhole(element)) return []
  const whole = BigInt(element)
  return whole < 0n ? [whole] : [whole, new Uint(whole)]
}

/** The keys of what is in the list; undefined if one of its elements has none. */
export const membersOf = (list: readonly CelValue[]): ReadonlySet<unknown> | undefined => {
  const isKey = (element: CelValue) => typeof element !== 'object' || element instanceof Uint
  return list.every(isKey)
    ? new Set(list.flatMap((element) => [element, ...likeOf(element)]).map(keyOf))
    : undefined
}
