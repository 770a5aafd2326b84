/** Cron schedules as robfig/cron reads them, with its words for what it cannot read. */
import { durationMs, durationProblem } from '#go/duration.js'
import { parseInt64, parseIntMessage } from '#json/int64.js'

interface Bounds {
  min: number
  max: number
  names?: readonly string[]
}

const months = 'jan feb mar apr may jun jul aug sep oct nov dec'.split(' ')
const days = 'sun mon tue wed thu fri sat'.split(' ')

const fields: readonly Bounds[] = [
  { min: 0, max: 59 },
  { min: 0, max: 23 },
  { min: 1, max: 31 },
  { min: 1, max: 12, names: months },
  { min: 0, max: 6, names: days },
]

const descriptors: ReadonlyMap<string, string> = new Map([
  ['@yearly', '0 0 1 1 *'],
  ['@annually', '0 0 1 1 *'],
  ['@monthly', '0 0 1 * *'],
  ['@weekly', '0 0 * * 0'],
  ['@daily', '0 0 * * *'],
  ['@midnight', '0 0 * * *'],
  ['@hourly', '0 * * * *'],
])
const every = '@every '

interface CronField {
  readonly values: ReadonlySet<number>
  /** A star is in it: of two days, that of the month and that of the week, both have to fit then. */
  readonly hasStar: boolean
}

export type CronFields = Readonly<
  Record<'minute' | 'hour' | 'day' | 'month' | 'weekday', CronField>
>

/** By fields, or again after some milliseconds. */
interface CronSchedule {
  /** A name of the database of time zones; undefined: UTC, or what is said elsewhere. */
  readonly zone: string | undefined
  readonly time: CronFields | { readonly everyMs: number }
}

class Unreadable extends Error {}

const readNumber = (text: string, { min, names }: Bounds): number => {
  const named = names?.indexOf(text.toLowerCase()) ?? -1
  if (named >= 0) return named + min
  const value = parseInt64(text)
  if (value === undefined)
    throw new Unreadable(`failed to parse int from ${text}: ${parseIntMessage(text, 'Atoi')}`)
  if (value < 0n) throw new Unreadable(`negative number (${value}) not allowed: ${text}`)
  return Number(value)
}

const readRange = (text: string, bounds: Bounds, values: Set<number>): boolean => {
  const rangeAndStep = text.split('/')
  const lowAndHigh = rangeAndStep[0]!.split('-')
  const isSingle = lowAndHigh.length === 1
  const isStar = lowAndHigh[0] === '*' || lowAndHigh[0] === '?'
  let start = bounds.min
  let end = bounds.max
  if (!isStar) {
    start = readNumber(lowAndHigh[0]!, bounds)
    if (lowAndHigh.length > 2) throw new Unreadable(`too many hyphens: ${text}`)
    end = isSingle ? start : readNumber(lowAndHigh[1]!, bounds)
  }
  let step = 1
  if (rangeAndStep.length > 2) throw new Unreadable(`too many slashes: ${text}`)
  if (rangeAndStep.length === 2) {
    step = readNumber(rangeAndStep[1]!, { min: 0, max: 0 })
    if (isSingle) end = bounds.max
  }
  if (start < bounds.min)
    throw new Unreadable(`beginning of range (${start}) below minimum (${bounds.min}): ${text}`)
  if (end > bounds.max)
    throw new Unreadable(`end of range (${end}) above maximum (${bounds.max}): ${text}`)
  if (start > end)
    throw new Unreadable(`beginning of range (${start}) beyond end of range (${end}): ${text}`)
  if (step === 0) throw new Unreadable(`step of range should be a positive number: ${text}`)
  for (let value = start; value <= end; value += step) values.add(value)
  return isStar && step === 1
}

const readField = (text: string, bounds: Bounds): CronField => {
  const values = new Set<number>()
  // Each once: there may be a million stars.
  const ranges = [...new Set(text.split(','))].filter((range) => range !== '')
  const stars = ranges.map((range) => readRange(range, bounds, values))
  return { values, hasStar: stars.includes(true) }
}

/** Whole seconds, and one at least. */
const readInterval = (text: string): number => {
  if (!text.startsWith(every)) throw new Unreadable(`unrecognized descriptor: ${text}`)
  const duration = text.slice(every.length)
  const problem = durationProblem(duration)
  if (problem !== undefined) throw new Unreadable(`failed to parse duration ${text}: ${problem}`)
  return Math.max(1, Math.floor(durationMs(duration) / 1000)) * 1000
}

/** The names of three capitals in the IANA database; ICU has more of its own. */
const shortZones = [
  'GMT',
  'UTC',
  'UCT',
  'EST',
  'MST',
  'HST',
  'CET',
  'EET',
  'MET',
  'WET',
  'PRC',
  'ROC',
  'ROK',
]

let zones: Map<string, string> | undefined
/** The names that Intl lists, by their lower case. It lists no aliases. */
const listedZones = (): Map<string, string> =>
  (zones ??= new Map(Intl.supportedValuesOf('timeZone').map((zone) => [zone.toLowerCase(), zone])))

/** Go looks the name up as a file of the database, so case counts; Intl knows the same names in any case. */
export const isTimeZone = (name: string): boolean => {
  // Go knows the first two without its database, Intl lacks the third.
  if (['UTC', 'Local', 'Factory'].includes(name)) return true
  try {
    new Intl.DateTimeFormat('en', { timeZone: name })
  } catch {
    return false
  }
  const listed = listedZones().get(name.toLowerCase())
  if (listed !== undefined) return listed === name
  if (/^[A-Z]{3}$/.test(name)) return shortZones.includes(name)
  return !name.startsWith('SystemV/') && name.split('/').every((part) => /^[A-Z]/.test(part))
}

// What unicode.IsSpace knows of: not quite what `\s` means.
const goSpaces = /[\t-\r \x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]+/

/** Throws for what is no schedule, with the library's words. */
export const readCronSchedule = (schedule: string): CronSchedule => {
  if (schedule === '') throw new Unreadable('empty spec string')
  let spec = schedule
  const zone = /^(?:TZ|CRON_TZ)=([^ ]*)( ?)/.exec(spec)
  if (zone !== null) {
    const [prefix, name, end] = zone
    // The library looks for the space behind the zone and takes it for granted.
    if (end === '')
      throw new Unreadable(
        'invalid schedule format: runtime error: slice bounds out of range [:-1]',
      )
    // No name is UTC.
    if (name !== '' && !isTimeZone(name!))
      throw new Unreadable(`provided bad location ${name}: unknown time zone ${name}`)
    spec = spec.slice(prefix.length).trim()
  }
  return { zone: zone?.[1] || undefined, time: readTime(spec) }
}

const readTime = (spec: string): CronSchedule['time'] => {
  const described = descriptors.get(spec)
  if (described === undefined && spec.startsWith('@')) return { everyMs: readInterval(spec) }
  const parts = (described ?? spec).split(goSpaces).filter((part) => part !== '')
  if (parts.length !== fields.length)
    throw new Unreadable(
      `expected exactly ${fields.length} fields, found ${parts.length}: [${parts.join(' ')}]`,
    )
  const [minute, hour, day, month, weekday] = parts.map((part, i) => readField(part, fields[i]!))
  return { minute: minute!, hour: hour!, day: day!, month: month!, weekday: weekday! }
}

/** What is wrong with a schedule; undefined when all is well. */
export const scheduleProblem = (schedule: string): string | undefined => {
  try {
    readCronSchedule(schedule)
    return undefined
  } catch (error) {
    if (error instanceof Unreadable) return error.message
    throw error
  }
}
