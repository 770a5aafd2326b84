/** Times as Go reads them: `2006-01-02T15:04:05Z07:00`, with exactly six digits of fraction for a MicroTime. */
import { daysIn } from '#api/clock.js'

const secondsLayout = '2006-01-02T15:04:05Z07:00'
const microLayout = '2006-01-02T15:04:05.000000Z07:00'

const seconds = /^(\d{4})-(\d\d)-(\d\d)T(\d\d?):(\d\d):(\d\d)(?:[.,](\d+))?(Z|[+-]\d\d:\d\d)$/
/** The length of a time that needs no change. */
const secondsLength = '2006-01-02T15:04:05Z'.length
const micro = /^(\d{4})-(\d\d)-(\d\d)T(\d\d?):(\d\d):(\d\d)\.(\d{6})(Z|[+-]\d\d:\d\d)$/

const offsetMinutes = (zone: string): number =>
  zone === 'Z'
    ? 0
    : (zone[0] === '-' ? -1 : 1) * (Number(zone.slice(1, 3)) * 60 + Number(zone.slice(4, 6)))

const rangeProblem = (match: RegExpExecArray): string | undefined => {
  const [month, day] = [Number(match[2]), Number(match[3])]
  const zone = match[8]!
  if (month < 1 || month > 12) return 'month out of range'
  if (Number(match[4]) > 23) return 'hour out of range'
  if (Number(match[5]) > 59) return 'minute out of range'
  if (Number(match[6]) > 59) return 'second out of range'
  if (zone !== 'Z' && Number(zone.slice(1, 3)) > 24) return 'time zone offset hour out of range'
  if (zone !== 'Z' && Number(zone.slice(4, 6)) > 59) return 'time zone offset minute out of range'
  // Every month has 28 days.
  if (day < 1 || (day > 28 && day > daysIn(Number(match[1]), month))) return 'day out of range'
  return undefined
}

/** The text in UTC, whole seconds (or six digits when `isMicro`); undefined for what is no time. */
export const canonicalTime = (text: string, isMicro: boolean): string | undefined => {
  const match = (isMicro ? micro : seconds).exec(text)
  if (match === null || rangeProblem(match) !== undefined) return undefined
  const fraction = isMicro ? `.${match[7]}` : ''
  const [, year, month, day, hour, minute, second, , zone] = match
  if (zone === 'Z' && fraction === '' && text.length === secondsLength) return text
  const local = `${year}-${month}-${day}T${hour!.padStart(2, '0')}:${minute}:${second}`
  if (zone === 'Z') return `${local}${fraction}Z`
  const utc = new Date(Date.parse(`${local}Z`) - offsetMinutes(zone!) * 60_000)
  return `${utc.toISOString().slice(0, 19)}${fraction}Z`
}

const elements = [
  ['2006', /^\d{4}/],
  ['-', /^-/],
  ['01', /^\d\d/],
  ['-', /^-/],
  ['02', /^\d\d/],
  ['T', /^T/],
  // Go takes one digit for the hour.
  ['15', /^\d\d?/],
  [':', /^:/],
  ['04', /^\d\d/],
  [':', /^:/],
  ['05', /^\d\d/],
] as const

/** The quotes of Go's package time: whatever is no printable ASCII is shown as its bytes. */
const quote = (text: string): string => {
  const bytes = (char: string): string => Buffer.from(char).toString('hex').replace(/../g, '\\x$&')
  return `"${text.replace(/["\\]/g, '\\$&').replace(/[^ -\x7f]/gu, bytes)}"`
}

/** Why a text is no time, in Go's words. */
export const timeProblem = (text: string, isMicro: boolean): string => {
  const layout = isMicro ? microLayout : secondsLayout
  const cannot = (rest: string, element: string): string =>
    `parsing time ${quote(text)} as "${layout}": cannot parse ${quote(rest)} as "${element}"`
  let rest = text
  for (const [element, pattern] of elements) {
    const found = pattern.exec(rest)
    if (found === null) return cannot(rest, element)
    rest = rest.slice(found[0].length)
  }
  const fraction = (isMicro ? /^\.\d{6}/ : /^(?:[.,]\d+)?/).exec(rest)
  if (fraction === null) return cannot(rest, '.000000')
  rest = rest.slice(fraction[0].length)
  const zone = /^(?:Z|[+-]\d\d:\d\d)/.exec(rest)
  const whole = text.slice(0, text.length - rest.length) + (zone?.[0] ?? '')
  const range = rangeProblem(
    (isMicro ? micro : seconds).exec(whole) ??
      seconds.exec(`${/^[^T]*T[\d:]{7,8}/.exec(whole)?.[0]}Z`)!,
  )
  if (range !== undefined && !(zone === null && range.startsWith('day')))
    return `parsing time ${quote(text)}: ${range}`
  if (zone === null) return cannot(rest, 'Z07:00')
  return `parsing time ${quote(text)}: extra text: ${quote(rest.slice(zone[0].length))}`
}
