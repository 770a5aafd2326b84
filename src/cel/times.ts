/** Timestamps and durations as text, in Go's forms, and the bounds of their arithmetic (cel-go, common/types/overflow.go). */

import { daysIn } from '#api/clock.js'
import { int64Max } from '#json/int64.js'
import { limits } from '#limits'
import { CelError, Duration, Timestamp } from './values.js'
import { work } from './work.js'

const nanosPerSecond = 1_000_000_000n
const firstSecond = -62_135_596_800n
const lastSecond = 253_402_300_799n

const floorDivide = (a: bigint, b: bigint): bigint => (a % b < 0n ? a / b - 1n : a / b)

export const secondsOf = ({ nanos }: Timestamp): bigint => floorDivide(nanos, nanosPerSecond)

export const timestampOf = (nanos: bigint, offsetMinutes = 0): Timestamp => {
  const seconds = floorDivide(nanos, nanosPerSecond)
  if (seconds < firstSecond || seconds > lastSecond) throw new CelError('timestamp overflow')
  return new Timestamp(nanos, offsetMinutes)
}

export const durationOf = (nanos: bigint): Duration => {
  if (nanos > int64Max || nanos < -int64Max - 1n) throw new CelError('integer overflow')
  return new Duration(nanos)
}

const rfc3339 =
  /^(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)(?:[.,](\d+))?(?:Z|([+-])(\d\d):(\d\d))$/

/** Undefined for what Go's time.Parse(RFC3339) does not take. */
export const parseTimestamp = (text: string): Timestamp | undefined => {
  const match = rfc3339.exec(text)
  if (match === null) return undefined
  const [year, month, day, hour, minute, second] = match.slice(1, 7).map(Number) as [
    number,
    number,
    number,
    number,
    number,
    number,
  ]
  const [zoneHours, zoneMinutes] = [Number(match[9] ?? 0), Number(match[10] ?? 0)]
  const isDate = month >= 1 && month <= 12 && day >= 1 && day <= daysIn(year || 4, month)
  if (!isDate || hour > 23 || minute > 59 || second > 59 || zoneHours > 24 || zoneMinutes > 59)
    return undefined
  const date = new Date(Date.UTC(2000, month - 1, day, hour, minute, second))
  date.setUTCFullYear(year, month - 1, day)
  const offset = (match[8] === '-' ? -1 : 1) * (zoneHours * 60 + zoneMinutes)
  const fraction = BigInt((match[7] ?? '').slice(0, 9).padEnd(9, '0'))
  const millis = BigInt(date.getTime() - offset * 60_000)
  return timestampOf(millis * 1_000_000n + fraction, offset)
}

/** A date without a time, as the formats of schemas have it. */
export const parseDate = (text: string): Timestamp | undefined =>
  parseTimestamp(`${text}T00:00:00Z`)

const pad = (value: number, width: number): string => String(value).padStart(width, '0')

const fractionOf = (nanos: bigint): string => {
  const digits = String(nanos).padStart(9, '0').replace(/0+$/, '')
  return digits === '' ? '' : `.${digits}`
}

/** The calendar of a timestamp in a zone that is so many seconds east. */
export const calendarOf = (timestamp: Timestamp, offsetSeconds: number): Date =>
  new Date((Number(secondsOf(timestamp)) + offsetSeconds) * 1000)

/** RFC 3339 with as many digits as there are. */
export const formatTimestamp = (timestamp: Timestamp): string => {
  const { nanos, offsetMinutes } = timestamp
  const at = calendarOf(timestamp, offsetMinutes * 60)
  const date = [pad(at.getUTCFullYear(), 4), pad(at.getUTCMonth() + 1, 2), pad(at.getUTCDate(), 2)]
  const time = [at.getUTCHours(), at.getUTCMinutes(), at.getUTCSeconds()].map((n) => pad(n, 2))
  const fraction = fractionOf(nanos - secondsOf(timestamp) * nanosPerSecond)
  const east = Math.abs(offsetMinutes)
  const zone = `${offsetMinutes < 0 ? '-' : '+'}${pad(Math.floor(east / 60), 2)}:${pad(east % 60, 2)}`
  return `${date.join('-')}T${time.join(':')}${fraction}${offsetMinutes === 0 ? 'Z' : zone}`
}

const unitNanos: Readonly<Record<string, bigint>> = {
  ns: 1n,
  us: 1_000n,
  µs: 1_000n,
  μs: 1_000n,
  ms: 1_000_000n,
  s: nanosPerSecond,
  m: 60n * nanosPerSecond,
  h: 3600n * nanosPerSecond,
}

/** Undefined for what Go's time.ParseDuration does not take. */
export const parseDuration = (text: string): Duration | undefined => {
  const match = /^([+-]?)(.+)$/.exec(text)
  if (match === null) return undefined
  const [, sign, rest] = match as unknown as [string, string, string]
  if (rest === '0') return new Duration(0n)
  let total = 0n
  let read = 0
  for (const part of rest.matchAll(/(\d*)(?:\.(\d*))?(ns|us|µs|μs|ms|s|m|h)/gy)) {
    const [all, whole = '', fraction = '', unit] = part as unknown as [
      string,
      string,
      string,
      string,
    ]
    if (whole === '' && fraction === '') return undefined
    const nanos = unitNanos[unit]!
    const digits = whole.replace(/^0+/, '')
    if (digits.length > limits.uint64DigitsMax) return undefined
    total += BigInt(digits) * nanos
    // No unit has a nanosecond behind these.
    const parts = fraction.slice(0, limits.uint64DigitsMax)
    total += (BigInt(parts) * nanos) / 10n ** BigInt(parts.length)
    if (total > int64Max + 1n) return undefined
    work(1)
    read += all.length
  }
  if (read !== rest.length || total > int64Max + (sign === '-' ? 1n : 0n)) return undefined
  return new Duration(sign === '-' ? -total : total)
}

/** Seconds, as `string(duration)` gives them: as a double, which of centuries does not know the nanoseconds. */
export const formatDuration = ({ nanos }: Duration): string => {
  const seconds = Number(nanos / nanosPerSecond) + Number(nanos % nanosPerSecond) / 1e9
  const isTiny = seconds !== 0 && Math.abs(seconds) < 1e-6
  return `${isTiny ? seconds.toFixed(9).replace(/0+$/, '') : seconds}s`
}
