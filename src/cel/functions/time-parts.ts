/** `getHours()` and the like, of timestamps in a zone and of durations (cel-go, common/stdlib/standard.go). */
import { goQuote } from '#go/quote.js'
import type { Implementations } from '../evaluation.js'
import { calendarOf } from '../times.js'
import { CelError, type Duration, type Timestamp } from '../values.js'

const dayMs = 86_400_000

/** By name in small letters, as Intl takes any: objects may name zones, and there are only so many. */
const zoneFormats = new Map<string, Intl.DateTimeFormat>()

/** Minutes that a named zone is east of UTC at a time. */
const namedOffset = (timestamp: Timestamp, zone: string): number => {
  if (zone === 'UTC' || zone === '') return 0
  let format = zoneFormats.get(zone.toLowerCase())
  if (format === undefined) {
    try {
      format = new Intl.DateTimeFormat('en-US', { timeZone: zone, timeZoneName: 'longOffset' })
    } catch {
      throw new CelError(`unknown time zone ${zone}`)
    }
    zoneFormats.set(zone.toLowerCase(), format)
  }
  const name = format.formatToParts(calendarOf(timestamp, 0)).find((p) => p.type === 'timeZoneName')
  const match = /GMT([+-])(\d+):(\d+)/.exec(name?.value ?? '')
  if (match === null) return 0
  return (match[1] === '-' ? -1 : 1) * (Number(match[2]) * 60 + Number(match[3]))
}

const numberIn = (text: string): number => {
  if (/^[+-]?\d+$/.test(text)) return Number(text)
  throw new CelError(`strconv.Atoi: parsing ${goQuote(text)}: invalid syntax`)
}

/** A zone's name, or an offset such as `-08:30`. */
const offsetOf = (timestamp: Timestamp, zone: string): number => {
  const colon = zone.indexOf(':')
  if (colon < 0) return namedOffset(timestamp, zone)
  const minutes = numberIn(zone.slice(colon + 1))
  const hours = numberIn(zone.slice(0, colon))
  return zone.startsWith('-') ? hours * 60 - minutes : hours * 60 + minutes
}

const parts: Readonly<Record<string, (at: Date, timestamp: Timestamp) => number>> = {
  getFullYear: (at) => at.getUTCFullYear(),
  getMonth: (at) => at.getUTCMonth(),
  getDayOfYear: (at) => Math.floor((at.getTime() - new Date(at).setUTCMonth(0, 1)) / dayMs),
  getDayOfMonth: (at) => at.getUTCDate() - 1,
  getDate: (at) => at.getUTCDate(),
  getDayOfWeek: (at) => at.getUTCDay(),
  getHours: (at) => at.getUTCHours(),
  getMinutes: (at) => at.getUTCMinutes(),
  getSeconds: (at) => at.getUTCSeconds(),
  getMilliseconds: (_at, { nanos }) => Number((((nanos / 1_000_000n) % 1000n) + 1000n) % 1000n),
}

const durationUnits: Readonly<Record<string, bigint>> = {
  getHours: 3_600_000_000_000n,
  getMinutes: 60_000_000_000n,
  getSeconds: 1_000_000_000n,
  getMilliseconds: 1_000_000n,
}

export const timeFunctions: Implementations = {
  ...Object.fromEntries(
    Object.entries(parts).flatMap(([name, part]) => [
      [`timestamp_${name}`, (t: Timestamp) => BigInt(part(calendarOf(t, 0), t))],
      [
        `timestamp_${name}_with_tz`,
        (t: Timestamp, zone: string) => BigInt(part(calendarOf(t, offsetOf(t, zone)), t)),
      ],
    ]),
  ),
  ...Object.fromEntries(
    Object.entries(durationUnits).map(([name, unit]) => [
      `duration_${name}`,
      ({ nanos }: Duration) => nanos / unit,
    ]),
  ),
}
