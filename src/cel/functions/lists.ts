/** Lists and sets (apiserver, pkg/cel/library/lists.go; cel-go, ext/lists.go and ext/sets.go). */
import { limits } from '#limits'
import type { Implementations } from '../evaluation.js'
import {
  CelError,
  type CelValue,
  compareValues,
  Duration,
  equal,
  typeNameOf,
  Uint,
} from '../values.js'
import { CostExceeded, work } from '../work.js'
import { add, contains } from './operators.js'

type List = readonly CelValue[]

/** Which of two comes first; neither does of what cannot be compared. */
const orderOf = (a: CelValue, b: CelValue): number => {
  try {
    return compareValues(a, b)
  } catch (error) {
    if (error instanceof CelError) return 0
    throw error
  }
}

const isSorted = (list: List): boolean =>
  list.every((item, i) => i === 0 || orderOf(list[i - 1]!, item) <= 0)

const sum =
  (zero: CelValue) =>
  (list: List): CelValue =>
    list.reduce<CelValue>((total, item) => add(total, item), zero)

const extreme =
  (name: string, sign: number) =>
  (list: List): CelValue => {
    if (list.length === 0) throw new CelError(`${name} called on empty list`)
    return list.reduce((best, item) => (sign * orderOf(best, item) > 0 ? item : best))
  }

const slice = (list: List, start: bigint, end: bigint): List => {
  const fail = (why: string): never => {
    throw new CelError(`cannot slice(${start}, ${end}), ${why}`)
  }
  if (start < 0n || end < 0n) fail('negative indexes not supported')
  if (start > end) fail('start index must be less than or equal to end index')
  if (BigInt(list.length) < end) fail(`list is length ${list.length}`)
  return list.slice(Number(start), Number(end))
}

const flatten = (list: List, depth: number): CelValue[] => {
  if (depth < 0) throw new CelError('level must be non-negative')
  const flat: CelValue[] = []
  const add = (items: List, deeper: number): void => {
    for (const item of items) {
      work(1)
      if (Array.isArray(item) && deeper > 0) add(item, deeper - 1)
      else flat.push(item)
    }
  }
  add(list, depth)
  return flat
}

const ordered =
  'int uint double bool duration timestamp string bytes google.protobuf.Duration google.protobuf.Timestamp'.split(
    ' ',
  )

const isOrdered = (value: CelValue): boolean =>
  value !== null && ordered.includes(typeNameOf(value))

const sortByKeys = (list: List, keys: List): List => {
  if (list.length !== keys.length)
    throw new CelError(
      `@sortByAssociatedKeys() expected a list of the same size as the associated keys list, but got ${list.length} and ${keys.length} elements respectively`,
    )
  const [first] = keys
  if (first !== undefined && !isOrdered(first))
    throw new CelError('list elements must be comparable')
  if (keys.some((key) => typeNameOf(key) !== typeNameOf(first!)))
    throw new CelError('list elements must have the same type')
  work(list.length)
  const order = list.map((_item, i) => i)
  order.sort((i, j) => orderOf(keys[i]!, keys[j]!))
  return order.map((i) => list[i]!)
}

const distinct = (list: List): List => {
  const seen: CelValue[] = []
  for (const item of list) if (!contains(seen, item)) seen.push(item)
  return seen
}

const range = (count: bigint): List => {
  // A list costs what it holds: longer ones than may be paid for are not made.
  if (count > BigInt(limits.celCallCostMax)) throw new CostExceeded()
  return Array.from({ length: Math.max(Number(count), 0) }, (_none, i) => BigInt(i))
}

const containsAll = (list: List, part: List): boolean => part.every((item) => contains(list, item))

const zeros: Readonly<Record<string, CelValue>> = {
  int: 0n,
  uint: new Uint(0n),
  double: 0,
  duration: new Duration(0n),
}

export const listFunctions: Implementations = {
  ...Object.fromEntries(
    ordered.flatMap((type) => [
      [`list_${type}_is_sorted_bool`, isSorted],
      [`list_${type}_max_${type}`, extreme('max', -1)],
      [`list_${type}_min_${type}`, extreme('min', 1)],
      [`list_${type}_sort`, (list: List) => sortByKeys(list, list)],
      [`list_${type}_sortByAssociatedKeys`, sortByKeys],
    ]),
  ),
  ...Object.fromEntries(
    Object.entries(zeros).map(([type, zero]) => [`list_${type}_sum_${type}`, sum(zero)]),
  ),
  list_a_index_of_int: (list: List, item: CelValue) =>
    BigInt(list.findIndex((other) => equal(other, item))),
  list_a_last_index_of_int: (list: List, item: CelValue) =>
    BigInt(list.findLastIndex((other) => equal(other, item))),
  list_slice: slice,
  list_flatten: (list: List) => flatten(list, 1),
  list_flatten_int: (list: List, depth: bigint) => flatten(list, Number(depth)),
  lists_range: range,
  list_reverse: (list: List) => list.toReversed(),
  list_distinct: distinct,
  list_sets_contains_list: containsAll,
  list_sets_equivalent_list: (a: List, b: List) => containsAll(a, b) && containsAll(b, a),
  list_sets_intersects_list: (a: List, b: List) => a.some((item) => contains(b, item)),
}
