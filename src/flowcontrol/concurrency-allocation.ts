/**
 * Divides seats among levels: each gets the same multiple of its target, within its own bounds (apiserver,
 * util/flowcontrol/conc_alloc.go).
 */

export interface Claim {
  readonly lowerBound: number
  readonly upperBound: number
  /** Not below the lower bound. */
  readonly target: number
}

interface Allocation {
  readonly seats: readonly number[]
  /** The multiple. */
  readonly fairFraction: number
}

/** Targets are no less than this. */
const targetMin = 0.001
const epsilon = 1e-7

const sumOf = (numbers: readonly number[]): number => numbers.reduce((sum, one) => sum + one, 0)

/** Undefined when no division keeps to all bounds. */
export const allocateSeats = (sum: number, claims: readonly Claim[]): Allocation | undefined => {
  const targets = claims.map(({ target }) => Math.max(target, targetMin))
  const lowest = claims.map(({ lowerBound }) => lowerBound)
  const highest = claims.map(({ upperBound }) => upperBound)
  const lowSum = sumOf(lowest)
  const highSum = sumOf(highest)
  if (lowSum - sum > epsilon || sum - highSum > epsilon) return undefined
  const multiples = (bounds: readonly number[]) => bounds.map((bound, i) => bound / targets[i]!)
  if (sum === 0) return { seats: claims.map(() => 0), fairFraction: 0 }
  if (lowSum - sum > -epsilon)
    return { seats: lowest, fairFraction: Math.min(...multiples(lowest)) }
  if (sum - highSum > -epsilon)
    return { seats: highest, fairFraction: Math.max(...multiples(highest)) }
  const seatsAt = (fraction: number): number[] =>
    claims.map(({ lowerBound, upperBound }, i) =>
      Math.max(lowerBound, Math.min(upperBound, fraction * targets[i]!)),
    )
  // Between two multiples at which a level meets a bound, the sum grows linearly.
  const turns = [...multiples(lowest), ...multiples(highest)].sort((a, b) => a - b)
  const end = turns.findIndex((turn) => sumOf(seatsAt(turn)) >= sum)
  const before = turns[end - 1]!
  const reached = sumOf(seatsAt(before))
  const growth = (sumOf(seatsAt(turns[end]!)) - reached) / (turns[end]! - before)
  const fairFraction = before + (sum - reached) / growth
  return { seats: seatsAt(fairFraction), fairFraction }
}
