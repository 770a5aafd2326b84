/** Cron schedules as robfig/cron reads them, with its words for what it cannot read. */
import { durationProblem } from '#go/duration.js'
import { goQuote } from '#go/quote.js'

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

const descriptors = new Set([
  '@yearly',
  '@annually',
  '@monthly',
  '@weekly',
  '@daily',
  '@midnight',
  '@hourly',
])

class Unreadable extends Error {}

const readNumber = (text: string, { min, names }: Bounds): number => {
  const named = names?.indexOf(text.toLowerCase()) ?? -1
  if (named >= 0) return named + min
  if (!/^[+-]?\d+$/.test(text))
    throw new Unreadable(
      `failed to parse int from ${text}: strconv.Atoi: parsing ${goQuote(text)}: invalid syntax`,
    )
  const value = Number(text)
  if (value < 0) throw new Unreadable(`negative number (${value}) not allowed: ${text}`)
  return value
}

const checkRange = (text: string, bounds: Bounds): void => {
  const rangeAndStep = text.split('/')
  const lowAndHigh = rangeAndStep[0]!.split('-')
  const isSingle = lowAndHigh.length === 1
  let start = bounds.min
  let end = bounds.max
  if (lowAndHigh[0] !== '*' && lowAndHigh[0] !== '?') {
    start = readNumber(lowAndHigh[0]!, bounds)
    if (lowAndHigh.length > 2) throw new Unreadable(`too many hyphens: ${text}`)
    end = isSingle ? start : readNumber(lowAndHigh[1]!, bounds)
  }
  let step = 1
  if (rangeAndStep.length > 2) throw new Unreadable(`too many slashes: ${text}`)
  if (rangeAndStep.length === 2) {
    step = readNumber(rangeAndStep[1]!, { min: 0, max: 0 })
    if (isSingle && lowAndHigh[0] !== '*' && lowAndHigh[0] !== '?') end = bounds.max
  }
  if (start < bounds.min)
    throw new Unreadable(`beginning of range (${start}) below minimum (${bounds.min}): ${text}`)
  if (end > bounds.max)
    throw new Unreadable(`end of range (${end}) above maximum (${bounds.max}): ${text}`)
  if (start > end)
    throw new Unreadable(`beginning of range (${start}) beyond end of range (${end}): ${text}`)
  if (step === 0) throw new Unreadable(`step of range should be a positive number: ${text}`)
}

const checkDescriptor = (text: string): void => {
  if (descriptors.has(text)) return
  const every = '@every '
  if (!text.startsWith(every)) throw new Unreadable(`unrecognized descriptor: ${text}`)
  const problem = durationProblem(text.slice(every.length))
  if (problem !== undefined) throw new Unreadable(`failed to parse duration ${text}: ${problem}`)
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

const check = (schedule: string): void => {
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
  if (spec.startsWith('@')) {
    checkDescriptor(spec)
    return
  }
  const parts = spec.split(goSpaces).filter((part) => part !== '')
  if (parts.length !== fields.length)
    throw new Unreadable(
      `expected exactly ${fields.length} fields, found ${parts.length}: [${parts.join(' ')}]`,
    )
  parts.forEach((part, i) => {
    for (const range of part.split(',').filter((r) => r !== '')) checkRange(range, fields[i]!)
  })
}

/** What is wrong with a schedule; undefined when all is well. */
export const scheduleProblem = (schedule: string): string | undefined => {
  try {
    check(schedule)
    return undefined
  } catch (error) {
    if (error instanceof Unreadable) return error.message
    throw error
  }
}
