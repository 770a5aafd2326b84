/** `string.format` (cel-go, ext/formatting.go): the clauses, and what a checker can say about them before they run. */
import { compareTexts } from '#go/compare-texts.js'
import { formatDouble } from '#go/number.js'
import { goQuote } from '#go/quote.js'
import { parseInt64, parseIntMessage } from '#json/int64.js'
import { limits } from '#limits'
import { formatDuration, formatTimestamp } from '../times.js'
import {
  CelError,
  type CelValue,
  Duration,
  MapValue,
  sizeOf,
  Timestamp,
  TypeValue,
  typeNameOf,
  Uint,
} from '../values.js'
import { CostExceeded, work } from '../work.js'

/** What is wrong with a clause, or with the argument for it. */
export class FormatError extends CelError {}

const complaints: Readonly<Record<string, string>> = {
  b: 'only integers and bools can be formatted as binary, was given',
  d: 'decimal clause can only be used on integers, was given',
  e: 'scientific clause can only be used on doubles, was given',
  f: 'fixed-point clause can only be used on doubles, was given',
  o: 'octal clause can only be used on integers, was given',
  s: 'string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, types, durations, and timestamps, was given',
  x: 'only integers, byte buffers, and strings can be formatted as hex, was given',
}
export const complaint = (clause: string, typeName: string): string =>
  `${complaints[clause.toLowerCase()]} ${typeName}`

interface Clause {
  readonly kind: string
  readonly precision: number
}

/** Calls back for each clause; yields the number of arguments that were asked for. */
export const readFormat = (
  format: string,
  count: number,
  onText: (text: string) => void,
  onClause: (clause: Clause, index: number) => void,
): number => {
  let at = 0
  let index = 0
  while (at < format.length) {
    if (format[at] !== '%') {
      onText(format[at++]!)
      continue
    }
    if (format[at + 1] === '%') {
      onText('%')
      at += 2
      continue
    }
    if (index >= count) throw new FormatError(`index ${index} out of range`)
    if (at + 1 >= format.length) throw new FormatError('unexpected end of string')
    const { clause, end } = readClause(format, at + 1)
    onClause(clause, index++)
    at = end
  }
  return index
}

const unparsable = (why: string): FormatError =>
  new FormatError(`could not parse formatting clause: ${why}`)

const readClause = (format: string, start: number): { clause: Clause; end: number } => {
  let at = start
  let precision = 6
  if (format[at] === '.') {
    const digits = /^\d*/.exec(format.slice(at + 1))![0]
    at += 1 + digits.length
    if (at >= format.length)
      throw unparsable('error while parsing precision: could not find end of precision specifier')
    if (digits === '')
      throw unparsable(
        'error while parsing precision: error while converting precision to integer: strconv.Atoi: parsing "": invalid syntax',
      )
    if (parseInt64(digits) === undefined)
      throw unparsable(
        `error while parsing precision: error while converting precision to integer: ${parseIntMessage(digits, 'Atoi')}`,
      )
    precision = Number(digits)
  }
  const kind = format[at]!
  if (!'sdfebxXo'.includes(kind)) throw unparsable(`unrecognized formatting clause "${kind}"`)
  return { clause: { kind, precision }, end: at + 1 }
}

const utf8 = (bytes: Uint8Array): string => {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch {
    const why = '"invalid UTF-8 in bytes, cannot convert to string"'
    throw new FormatError(`could not convert argument ${why} to string`)
  }
}

/** A double has no more digits than this behind the point: 5e-324 has them all. */
const fractionDigits = 1074

/** With so many digits behind the point, all of them those of the double; half a last digit goes to the even one. */
const fixed = (value: number, digits: number): string => {
  let scaled = Math.abs(value)
  let halvings = 0n
  for (; !Number.isInteger(scaled); scaled *= 2) halvings++
  const kept = Math.min(digits, fractionDigits)
  const exact = BigInt(scaled) * 10n ** BigInt(kept)
  let rounded = exact >> halvings
  const twice = (exact - (rounded << halvings)) * 2n
  const one = 1n << halvings
  if (twice > one || (twice === one && rounded % 2n === 1n)) rounded++
  const text = String(rounded).padStart(kept + 1, '0')
  const whole = text.slice(0, text.length - kept)
  const significant = text.slice(text.length - kept).replace(/0+$/, '')
  // How many there are at least is a byte in Go's printer (x/text, RoundingContext), how many at most is not.
  const fraction = significant.padEnd(digits % 256, '0')
  return `${value < 0 ? '-' : ''}${whole}${fraction === '' ? '' : `.${fraction}`}`
}

/** All digits, and the sign of zero. */
const inFull = (value: number): string => (Object.is(value, -0) ? '-0.000000' : fixed(value, 6))

/** A value inside a list or map. */
const nested = (value: CelValue): string => {
  work(1 + (sizeOf(value) ?? 0) / 10)
  if (typeof value === 'string') return goQuote(value)
  if (value instanceof Uint8Array) return `b${goQuote(utf8(value))}`
  if (typeof value === 'number')
    return Number.isFinite(value) ? inFull(value) : goQuote(formatDouble(value))
  if (value instanceof Timestamp) return `timestamp(${goQuote(formatTimestamp(value))})`
  if (value instanceof Duration) return `duration(${goQuote(formatDuration(value))})`
  if (
    typeof value === 'object' &&
    value !== null &&
    !(
      Array.isArray(value) ||
      value instanceof MapValue ||
      value instanceof Uint ||
      value instanceof TypeValue
    )
  )
    throw new FormatError(`no formatting function for ${typeNameOf(value)}`)
  return asText(value)
}

const asText = (value: CelValue): string => {
  if (value === null || typeof value === 'boolean' || typeof value === 'bigint')
    return String(value)
  if (typeof value === 'string') return value
  if (typeof value === 'number') return formatDouble(value)
  if (value instanceof Uint) return String(value.value)
  if (value instanceof Uint8Array) return utf8(value)
  if (value instanceof Timestamp) return formatTimestamp(value)
  if (value instanceof Duration) return formatDuration(value)
  if (value instanceof TypeValue) return value.name
  if (Array.isArray(value)) return `[${value.map(nested).join(', ')}]`
  if (!(value instanceof MapValue)) throw new FormatError(complaint('s', typeNameOf(value)))
  const entries = value.keys().map((key) => {
    if (typeof key === 'number')
      throw new FormatError('no formatting function for map key of type double')
    const inner = value.get(key)
    if (inner === undefined) throw new FormatError(`could not find key: ${nested(key)}`)
    return [nested(key), nested(inner)] as const
  })
  entries.sort(([a], [b]) => compareTexts(a, b))
  return `{${entries.map(([key, inner]) => `${key}:${inner}`).join(', ')}}`
}

const integerOf = (value: CelValue): bigint | undefined =>
  typeof value === 'bigint' ? value : value instanceof Uint ? value.value : undefined

/** The words that stand for doubles that have no digits. */
const doubleOf = (value: CelValue): number | undefined => {
  if (typeof value === 'number') return value
  if (value === 'NaN') return Number.NaN
  if (value === 'Infinity') return Infinity
  return value === '-Infinity' ? -Infinity : undefined
}

const withoutDigits = (value: number): string =>
  Number.isNaN(value) ? 'NaN' : value > 0 ? '∞' : '-∞'

const grouped = (text: string): string => {
  const [, sign, whole, rest] = /^(-?)(\d+)(.*)$/.exec(text)! as unknown as [
    string,
    string,
    string,
    string,
  ]
  return `${sign}${whole.replace(/\B(?=(\d{3})+$)/g, ',')}${rest}`
}

const superscripts = '⁰¹²³⁴⁵⁶⁷⁸⁹'
/** Upstream's number is a width here, not a precision. */
const scientific = (value: number, width: number): string => {
  const [mantissa, exponent] = value.toExponential(6).split('e') as [string, string]
  const digits = String(Math.abs(Number(exponent))).padStart(2, '0')
  const raised = [...digits].map((d) => superscripts[Number(d)]).join('')
  return `${mantissa}×10${Number(exponent) < 0 ? '⁻' : ''}${raised}`.padStart(
    Math.min(width, limits.celTextCharactersMax),
  )
}

const hex = (value: CelValue): string | undefined => {
  const integer = integerOf(value)
  if (integer !== undefined) return integer.toString(16)
  if (typeof value === 'string') return Buffer.from(value).toString('hex')
  return value instanceof Uint8Array ? Buffer.from(value).toString('hex') : undefined
}

/** Go's printer, which upstream hands the number to, reads no digit behind more than a million, and then finds no verb. */
const largestGoPrecision = 10_000_009

const formatClause = ({ kind, precision }: Clause, value: CelValue): string | undefined => {
  if (kind === 's') return asText(value)
  if (kind === 'd') return integerOf(value)?.toString()
  if (kind === 'o') return integerOf(value)?.toString(8)
  if (kind === 'b')
    return typeof value === 'boolean' ? String(Number(value)) : integerOf(value)?.toString(2)
  if (kind === 'x') return hex(value)
  if (kind === 'X') return hex(value)?.toUpperCase()
  const number = doubleOf(value)
  if (number === undefined) return undefined
  if (!Number.isFinite(number)) return withoutDigits(number)
  if (precision > largestGoPrecision) return '%!(NOVERB)'
  return kind === 'f' ? grouped(fixed(number, precision)) : scientific(number, precision)
}

export const formatString = (format: string, args: readonly CelValue[]): string => {
  let text = ''
  const add = (piece: string): void => {
    text += piece
    if (text.length > limits.celTextCharactersMax) throw new CostExceeded()
  }
  readFormat(format, args.length, add, (clause, index) => {
    try {
      const shown = formatClause(clause, args[index]!)
      if (shown === undefined)
        throw new FormatError(complaint(clause.kind, typeNameOf(args[index]!)))
      add(shown)
    } catch (error) {
      if (error instanceof FormatError)
        throw new FormatError(`error during formatting: ${error.message}`)
      throw error
    }
  })
  return text
}
