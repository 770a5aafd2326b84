/** Times as Go reads them: `2006-01-02T15:04:05Z07:00`, with exactly six digits of fraction for a MicroTime. */
import { daysIn, formatFarTime } from '#api/clock.js'

const secondsLayout = '2006-01-02T15:04:05Z07:00'
const microLayout = '2006-01-02T15:04:05.000000Z07:00'

const seconds = /^(\d{4})-(\d\d)-(\d\d)T(\d\d?):(\d\d):(\d\d)(?:[.,](\d+))?(Z|[+-]\d\d:\d\d)$/
/** The length of a time that needs no change. */
const secondsLength = '2006-01-02T15:04:05Z'.length
const micro = /^(\d{4})-(\d\d)-(\d\d)T(\d\d?):(\d\d):(\d\d)[.,](\d{6})(Z|[+-]\d\d:\d\d)$/

const offsetMinutes = (zone: string): number =>
  zone === 'Z'
    ? 0
    : (zone[0] === '-' ? -1 : 1) * (Number(zone.slice(1, 3)) * 60 + Number(zone.slice(4, 6)))

/** Every month has 28 days. */
const isDayOf = (day: number, year: number, month: number): boolean =>
  day >= 1 && (day <= 28 || day <= daysIn(year, month))

// Some people write offsets of 24 hours or 60 minutes, and Go lets them.
const largestOffset = { hours: 24, minutes: 60 }

/** Between what each number lies; the day has its month. */
const ranges = { month: [1, 12], hour: [0, 23], minute: [0, 59], second: [0, 59] } as const

const isWithin = (digits: string, name: keyof typeof ranges): boolean => {
  const [least, most] = ranges[name]
  const number = Number(digits)
  return number >= least && number <= most
}

const isInRange = ([, year, month, day, hour, minute, second, , zone]: RegExpExecArray): boolean =>
  isWithin(month!, 'month') &&
  isWithin(hour!, 'hour') &&
  isWithin(minute!, 'minute') &&
  isWithin(second!, 'second') &&
  (zone === 'Z' ||
    (Number(zone!.slice(1, 3)) <= largestOffset.hours &&
      Number(zone!.slice(4, 6)) <= largestOffset.minutes)) &&
  isDayOf(Number(day), Number(year), Number(month))

/** The text in UTC, whole seconds (or six digits when `isMicro`); undefined for what is no time. */
export const canonicalTime = (text: string, isMicro: boolean): string | undefined => {
  const match = (isMicro ? micro : seconds).exec(text)
  if (match === null || !isInRange(match)) return undefined
  const fraction = isMicro ? `.${match[7]}` : ''
  const [, year, month, day, hour, minute, second, , zone] = match
  if (zone === 'Z' && fraction === '' && text.length === secondsLength) return text
  const local = `${year}-${month}-${day}T${hour!.padStart(2, '0')}:${minute}:${second}`
  if (zone === 'Z') return `${local}${fraction}Z`
  const utc = formatFarTime(Date.parse(`${local}Z`) - offsetMinutes(zone!) * 60_000)
  return fraction === '' ? utc : `${utc.slice(0, -1)}${fraction}Z`
}

interface Element {
  readonly element: string
  readonly pattern: RegExp
  /** What the number is called. */
  readonly name?: keyof typeof ranges
}

const elements: readonly Element[] = [
  { element: '2006', pattern: /^\d{4}/ },
  { element: '-', pattern: /^-/ },
  { element: '01', pattern: /^\d\d/, name: 'month' },
  { element: '-', pattern: /^-/ },
  { element: '02', pattern: /^\d\d/ },
  { element: 'T', pattern: /^T/ },
  // Go takes one digit for the hour.
  { element: '15', pattern: /^\d\d?/, name: 'hour' },
  { element: ':', pattern: /^:/ },
  { element: '04', pattern: /^\d\d/, name: 'minute' },
  { element: ':', pattern: /^:/ },
  { element: '05', pattern: /^\d\d/, name: 'second' },
]

/** The quotes of Go's package time: whatever is no printable ASCII is shown as its bytes. */
const quote = (text: string): string => {
  const bytes = (char: string): string => Buffer.from(char).toString('hex').replace(/../g, '\\x$&')
  return `"${text.replace(/["\\]/g, '\\$&').replace(/[^ -\x7f]/gu, bytes)}"`
}

/** Why a text is no time, in Go's words. Go says of each number that it is out of range before it reads on, of the day at the end. */
export const timeProblem = (text: string, isMicro: boolean): string => {
  const layout = isMicro ? microLayout : secondsLayout
  const cannot = (rest: string, element: string): string =>
    `parsing time ${quote(text)} as "${layout}": cannot parse ${quote(rest)} as "${element}"`
  const outOfRange = (name: string): string => `parsing time ${quote(text)}: ${name} out of range`
  let rest = text
  for (const { element, pattern, name } of elements) {
    const found = pattern.exec(rest)
    if (found === null) return cannot(rest, element)
    rest = rest.slice(found[0].length)
    if (name !== undefined && !isWithin(found[0], name)) return outOfRange(name)
  }
  const fraction = (isMicro ? /^[.,]\d{6}/ : /^(?:[.,]\d+)?/).exec(rest)
  if (fraction === null) return cannot(rest, '.000000')
  rest = rest.slice(fraction[0].length)
  const zone = /^(?:Z|(.)(\d\d):(\d\d))/.exec(rest)
  if (zone === null) return cannot(rest, 'Z07:00')
  const [found, sign, hours, minutes] = zone
  if (Number(hours) > largestOffset.hours) return outOfRange('time zone offset hour')
  if (Number(minutes) > largestOffset.minutes) return outOfRange('time zone offset minute')
  if (sign !== undefined && sign !== '+' && sign !== '-') return cannot(rest, 'Z07:00')
  rest = rest.slice(found.length)
  if (rest !== '') return `parsing time ${quote(text)}: extra text: ${quote(rest)}`
  return outOfRange('day')
}
