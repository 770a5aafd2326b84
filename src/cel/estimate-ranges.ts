/** Ranges of costs and sizes: uint64 that stay at their largest instead of overflowing. */
import { uint64Max } from '#json/int64.js'
import type { Expression } from './ast.js'
import type { Type } from './types.js'

export interface CostRange {
  readonly min: bigint
  readonly max: bigint
}

export const capped = (value: bigint): bigint => (value > uint64Max ? uint64Max : value)

export const fixed = (value: number | bigint): CostRange => ({
  min: BigInt(value),
  max: BigInt(value),
})
export const range = (min: number | bigint, max: number | bigint): CostRange => ({
  min: BigInt(min),
  max: BigInt(max),
})
export const unknownRange: CostRange = { min: 0n, max: uint64Max }

export const addRanges = (a: CostRange, b: CostRange): CostRange => ({
  min: capped(a.min + b.min),
  max: capped(a.max + b.max),
})

export const scale = (a: CostRange, b: CostRange): CostRange => ({
  min: capped(a.min * b.min),
  max: capped(a.max * b.max),
})

/** Math.min takes no BigInt. */
export const least = (a: bigint, b: bigint): bigint => [a, b].sort(orderOf)[0]!
const orderOf = (a: bigint, b: bigint): number => (a < b ? -1 : 1)
const most = (a: bigint, b: bigint): bigint => [a, b].sort(orderOf)[1]!

export const unionRanges = (a: CostRange, b: CostRange): CostRange => ({
  min: least(a.min, b.min),
  max: most(a.max, b.max),
})

/** In doubles, as upstream: the next whole number. */
const timesFactor = (value: bigint, factor: number): bigint => {
  const product = Math.ceil(Number(value) * factor)
  return product >= 2 ** 64 ? uint64Max : BigInt(product)
}

export const timesFactorOf = (a: CostRange, factor: number): CostRange => ({
  min: timesFactor(a.min, factor),
  max: timesFactor(a.max, factor),
})

/** Sizes of what a list or map holds. */
export interface EntrySizes {
  readonly isList: boolean
  readonly key: CostRange
  readonly value: CostRange
}

/** The size of the data at a path, such as `self.items.@items.name`; undefined: not known. */
export type SizeOfPath = (path: readonly string[]) => CostRange | undefined

export interface SizedNode {
  readonly path: readonly string[]
  readonly type: Type
  readonly expression: Expression | undefined
  readonly size: CostRange | undefined
}
