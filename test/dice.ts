/** Chance of a part, such as one of the sweep: the same for a seed, whichever other parts are played. */
import { seededRandom } from './seeded-random.js'

export interface Dice {
  below(bound: number): number
  oneIn(bound: number): boolean
  happens(share: number): boolean
  pick<T>(list: readonly T[]): T
  /** Each with an even chance, in their order. */
  some<T>(list: readonly T[]): T[]
  /** Nothing, but for one time in so many. */
  maybe<T>(make: () => T, bound?: number): T | undefined
}

export const diceOf = (seed: number, name: string): Dice => {
  let mixed = seed
  for (const letter of name) mixed = (Math.imul(mixed, 31) + letter.charCodeAt(0)) | 0
  const random = seededRandom(mixed)
  const below = (bound: number): number => Math.floor(random() * bound)
  const oneIn = (bound: number): boolean => below(bound) === 0
  return {
    below,
    oneIn,
    happens: (share) => random() < share,
    pick: (list) => list[below(list.length)]!,
    some: (list) => list.filter(() => oneIn(2)),
    maybe: (make, bound = 2) => (oneIn(bound) ? make() : undefined),
  }
}

/** Without what is undefined. */
export const given = (fields: Record<string, unknown>): Record<string, unknown> =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined))
