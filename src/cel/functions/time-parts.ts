/** `getHours()` and the like, of timestamps in a zone and of durations (cel-go, common/stdlib/standard.go). */
import { once } from '#async/once.js'
import { parseInt64, parseIntMessage } from '#json/int64.js'
import type { Implementations } from '../evaluation.js'
import { calendarOf, secondsOf } from '../times.js'
import { CelError, type Duration, type Timestamp } from '../values.js'

const dayMs = 86_400_000

/** By name in small letters, as Intl takes any: objects may name zones, and there are only so many. */
const zoneFormats = new Map<string, Intl.DateTimeFormat>()

const zonesByName = once(
  () => new Map(Intl.supportedValuesOf('timeZone').map((zone) => [zone.toLowerCase(), zone])),
)
/** Intl takes names in letters of any size, and offsets, too; to Go they are the names of files. */
const isWrittenSo = (zone: string): boolean =>
  /^[A-Z]/.test(zone) && (zonesByName().get(zone.toLowerCase()) ?? zone) === zone

/** Seconds that a named zone is east of UTC at a time. */
const namedOffset = (timestamp: Timestamp, zone: string): number => {
  if (zone === 'UTC' || zone === '') return 0
  if (/^[/\\]|\.\./.test(zone)) throw new CelError('time: invalid location name')
  // The zone of the server.
  const isLocal = zone === 'Local'
  if (!isLocal && !isWrittenSo(zone)) throw new CelError(`unknown time zone ${zone}`)
  const name = isLocal ? zone : zone.toLowerCase()
  let format = zoneFormats.get(name)
  if (format === undefined) {
    try {
      format = new Intl.DateTimeFormat('en-US', {
        timeZone: isLocal ? undefined : zone,
        timeZoneName: 'longOffset',
      })
    } catch {
      throw new CelError(`unknown time zone ${zone}`)
    }
    zoneFormats.set(name, format)
  }
  const parts = format.formatToParts(calendarOf(timestamp, 0))
  const shown = parts.find((part) => part.type === 'timeZoneName')?.value ?? ''
  const match = /GMT([+-])(\d+):(\d+)(?::(\d+))?/.exec(shown)
  if (match === null) return 0
  const [, sign, hours, minutes, seconds = 0] = match
  return (sign === '-' ? -1 : 1) * (Number(hours) * 3600 + Number(minutes) * 60 + Number(seconds))
}

const numberIn = (text: string): bigint => {
  const value = parseInt64(text)
  if (value === undefined) throw new CelError(parseIntMessage(text, 'Atoi'))
  return value
}

/** A zone's name, or an offset such as `-08:30`. */
const offsetOf = (timestamp: Timestamp, zone: string): number => {
  const colon = zone.indexOf(':')
  if (colon < 0) return namedOffset(timestamp, zone)
  const hours = numberIn(zone.slice(0, colon))
  const minutes = numberIn(zone.slice(colon + 1))
  const offset = zone.startsWith('-') ? hours * 60n - minutes : hours * 60n + minutes
  // Upstream counts them in nanoseconds, and overflows.
  return Number(BigInt.asIntN(64, offset * 60_000_000_000n) / 1_000_000_000n)
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
  getMilliseconds: (_at, timestamp) =>
    Number((timestamp.nanos - secondsOf(timestamp) * 1_000_000_000n) / 1_000_000n),
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
