import { randomInt } from 'node:crypto'

/** The same in the same order, from a random one on and round: each comes first as often as any other. */
export const fromRandom = <T>(items: readonly T[]): readonly T[] => {
  const first = items.length > 1 ? randomInt(items.length) : 0
  return first === 0 ? items : [...items.slice(first), ...items.slice(0, first)]
}
