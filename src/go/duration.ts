/** Go's time.ParseDuration with its error texts. */
import { limits } from '#limits'

const units: ReadonlyMap<string, bigint> = new Map([
  ['ns', 1n],
  ['us', 1_000n],
  ['µs', 1_000n],
  ['μs', 1_000n],
  ['ms', 1_000_000n],
  ['s', 1_000_000_000n],
  ['m', 60_000_000_000n],
  ['h', 3_600_000_000_000n],
])

const lastNs = 2n ** 63n - 1n

const escaped = (byte: number): string => `\\x${byte.toString(16).padStart(2, '0')}`

/** Go's time package has a %q of its own, which knows ASCII only. */
const quote = (text: string): string => {
  const shown = text
    .replace(/["\\]/g, '\\$&')
    .replace(/[^ -\x7f]+/g, (part) => [...Buffer.from(part)].map(escaped).join(''))
  return `"${shown}"`
}

/** Undefined for a number that does not fit. What has a million digits is not calculated. */
const wholeOf = (digits: string): bigint | undefined => {
  const counted = digits.length > limits.uint64DigitsMax ? digits.replace(/^0+/, '') : digits
  if (counted.length > limits.uint64DigitsMax) return undefined
  const value = BigInt(counted)
  return value > lastNs + 1n ? undefined : value
}

/** More of them make no difference. */
const fractionDigits = 18

/** Calculated as Go does it, whose way makes `0.29h` whole seconds. */
const fractionOf = (digits: string, unit: bigint): bigint => {
  if (digits === '') return 0n
  const read = digits.slice(0, fractionDigits)
  return BigInt(Math.trunc(Number(read) * (Number(unit) / Number(`1e${read.length}`))))
}

/** Nanoseconds, or what is wrong. */
const parse = (text: string): bigint | { problem: string } => {
  const invalid = () => ({ problem: `time: invalid duration ${quote(text)}` })
  const sign = /^[+-]?/.exec(text)![0]
  if (text.length === sign.length) return invalid()
  if (text.slice(sign.length) === '0') return 0n
  // A number with its unit, wherever the one before has ended: there may be a million of them.
  const part = /(\d*)\.?(\d*)([^.\d]*)/y
  part.lastIndex = sign.length
  let sum = 0n
  while (part.lastIndex < text.length) {
    const [, digits = '', fraction = '', name = ''] = part.exec(text)!
    if (digits === '' && fraction === '') return invalid()
    const whole = wholeOf(digits)
    if (whole === undefined) return invalid()
    if (name === '') return { problem: `time: missing unit in duration ${quote(text)}` }
    const unit = units.get(name)
    if (unit === undefined)
      return { problem: `time: unknown unit ${quote(name)} in duration ${quote(text)}` }
    sum += whole * unit + fractionOf(fraction, unit)
    if (sum > lastNs + 1n) return invalid()
  }
  if (sign === '-') return -sum
  return sum > lastNs ? invalid() : sum
}

/** Milliseconds of a duration that has no problem. */
export const durationMs = (text: string): number => {
  const parsed = parse(text)
  return typeof parsed === 'bigint' ? Number(parsed) / 1e6 : Number.NaN
}

/** Such as `time: invalid duration "x"`; undefined: nothing is wrong. */
export const durationProblem = (text: string): string | undefined => {
  const parsed = parse(text)
  return typeof parsed === 'bigint' ? undefined : parsed.problem
}

const fullUnits = [
  ['h', 3_600_000],
  ['m', 60_000],
] as const

/** As Go prints it: `1m30s`, `1.5ms`. */
export const printedDuration = (ms: number): string => {
  if (ms < 0) return `-${printedDuration(-ms)}`
  const shown = (value: number, scale: number): number => Math.round(value * scale) / scale
  if (ms === 0) return '0s'
  if (ms < 1e-3) return `${shown(ms * 1e6, 1)}ns`
  if (ms < 1) return `${shown(ms * 1e3, 1e3)}µs`
  if (ms < 1_000) return `${shown(ms, 1e6)}ms`
  let [text, rest] = ['', ms]
  for (const [unit, length] of fullUnits) {
    const count = Math.floor(rest / length)
    if (count > 0 || text !== '') text += `${count}${unit}`
    rest -= count * length
  }
  return `${text}${shown(rest / 1_000, 1e9)}s`
}
