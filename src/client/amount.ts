/** Quantities as exact integers of a thousandth: what sums and comparisons of resources need. */

const binary: Record<string, bigint> = {
  Ki: 1n << 10n,
  Mi: 1n << 20n,
  Gi: 1n << 30n,
  Ti: 1n << 40n,
  Pi: 1n << 50n,
  Ei: 1n << 60n,
}
const decimalExponents: Record<string, number> = {
  n: -9,
  u: -6,
  m: -3,
  '': 0,
  k: 3,
  M: 6,
  G: 9,
  T: 12,
  P: 15,
  E: 18,
}
const form = /^([+-]?)(\d*)\.?(\d*)(?:([eE][+-]?\d+)|([KMGTPE]i|[numkMGTPE]?))$/

/** `1500m` → 1500n, `1Gi` → 1073741824000n. Rounds up to a thousandth; throws for what is no quantity. */
export const parseMilli = (text: string): bigint => {
  const match = form.exec(text)
  if (match === null || (match[2] === '' && match[3] === ''))
    throw new Error(`no quantity: ${text}`)
  const [, sign, whole = '', fraction = '', exponent, suffix = ''] = match
  const digits = BigInt(`${whole}${fraction}` || '0')
  const factor = binary[suffix]
  const power =
    3 -
    fraction.length +
    (exponent ? Number(exponent.slice(1)) : factor === undefined ? decimalExponents[suffix]! : 0)
  const scaled = digits * (factor ?? 1n)
  const milli = power >= 0 ? scaled * 10n ** BigInt(power) : divideUp(scaled, 10n ** BigInt(-power))
  return sign === '-' ? -milli : milli
}

const divideUp = (a: bigint, b: bigint): bigint => (a + b - 1n) / b

const binarySuffixes = ['Ei', 'Pi', 'Ti', 'Gi', 'Mi', 'Ki'] as const
const decimalSuffixes = ['E', 'P', 'T', 'G', 'M', 'k'] as const

/** The canonical text: the largest suffix without a fraction, in the family that `like` is written in. */
export const formatMilli = (milli: bigint, like: 'binary' | 'decimal'): string => {
  if (milli % 1000n !== 0n) return `${milli}m`
  const value = milli / 1000n
  if (value === 0n) return '0'
  if (like === 'binary') {
    for (const suffix of binarySuffixes)
      if (value % binary[suffix]! === 0n) return `${value / binary[suffix]!}${suffix}`
    return String(value)
  }
  for (const suffix of decimalSuffixes) {
    const unit = 10n ** BigInt(decimalExponents[suffix]!)
    if (value % unit === 0n) return `${value / unit}${suffix}`
  }
  return String(value)
}

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
