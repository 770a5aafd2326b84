/** Quantities as exact integers of a thousandth: what sums and comparisons of resources need. */
import { formatQuantity, parseQuantity, quantityMilliValue } from '#api/quantity.js'

/** `1500m` → 1500n, `1Gi` → 1073741824000n. Rounds up to a thousandth; throws for what is no quantity. */
export const parseMilli = (text: string): bigint => quantityMilliValue(parseQuantity(text))

/** The canonical text, in the family that `like` is written in. */
export const formatMilli = (milli: bigint, like: 'binary' | 'decimal'): string =>
  formatQuantity(milli * 1_000_000n, like === 'binary' ? 'BinarySI' : 'DecimalSI')

/** The family of a quantity's text. */
export const familyOf = (text: string): 'binary' | 'decimal' =>
  text.endsWith('i') ? 'binary' : 'decimal'

export type MilliAmounts = Map<string, bigint>

export const parseAmounts = (amounts: Record<string, string> = {}): MilliAmounts =>
  new Map(Object.entries(amounts).map(([name, text]) => [name, parseMilli(text)]))

export const addAmounts = (into: MilliAmounts, amounts: MilliAmounts, sign = 1n): void => {
  for (const [name, milli] of amounts) into.set(name, (into.get(name) ?? 0n) + sign * milli)
}
export const maxAmounts = (into: MilliAmounts, amounts: MilliAmounts): void => {
  for (const [name, milli] of amounts) if (milli > (into.get(name) ?? 0n)) into.set(name, milli)
}
