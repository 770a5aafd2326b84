/** Times of a CronJob: robfig/cron's dialect on top of croner. Pure. */

import { Cron } from 'croner'
import { formatTime } from '#api/clock.js'
import { durationMs, durationProblem } from '#api/duration.js'
import { limits } from '#limits'

/** Descriptors that robfig/cron knows and croner spells as fields. */
const descriptors: Record<string, string> = {
  '@yearly': '0 0 1 1 *',
  '@annually': '0 0 1 1 *',
  '@monthly': '0 0 1 * *',
  '@weekly': '0 0 * * 0',
  '@daily': '0 0 * * *',
  '@midnight': '0 0 * * *',
  '@hourly': '0 * * * *',
}
const every = '@every '
/** Croner's own: the last day, the nearest weekday, the n-th weekday of a month. */
const extension = /[LW#]/
const threeLetters = /[A-Z]{3}/g

export interface Schedule {
  /** The first time after `afterMs`, in ms since the epoch; undefined when there is none. */
  next(afterMs: number): number | undefined
}

/** Throws for what is no schedule. `@every` counts from the time it is asked about. */
export const parseSchedule = (text: string, timeZone?: string): Schedule => {
  const zoned = /^(?:CRON_)?TZ=(\S+)\s+(.*)$/.exec(text.trim())
  const spec = zoned?.[2] ?? text.trim()
  if (spec.startsWith(every)) {
    const ms = intervalMs(spec.slice(every.length))
    return { next: (after) => Math.floor(after / 1000) * 1000 + ms }
  }
  const fields = (descriptors[spec] ?? spec).toUpperCase()
  // Names of months and days have such letters too.
  if (fields.split(/\s+/).length !== 5 || extension.test(fields.replace(threeLetters, '')))
    throw new Error(`expected exactly 5 fields: ${JSON.stringify(text)}`)
  const cron = new Cron(fields.replaceAll('?', '*'), {
    paused: true,
    sloppyRanges: true,
    ...(timeZone || zoned ? { timezone: timeZone ?? zoned![1]! } : { timezone: 'Etc/UTC' }),
  })
  return {
    next: (after) => cron.nextRun(formatTime(after))?.getTime(),
  }
}

/** Whole seconds, and one at least. */
const intervalMs = (duration: string): number => {
  const problem = durationProblem(duration)
  if (problem !== undefined)
    throw new Error(`failed to parse duration ${every}${duration}: ${problem}`)
  return Math.max(1, Math.floor(durationMs(duration) / 1000)) * 1000
}

/** The last time that was due in (`from`, `now`], how many there were, and the next one. */
export const dueTimes = (
  schedule: Schedule,
  from: number,
  now: number,
): { last: number | undefined; missed: 'none' | 'few' | 'many'; next: number | undefined } => {
  let last: number | undefined
  let count = 0
  let at = schedule.next(from)
  while (at !== undefined && at <= now) {
    last = at
    // Years of missed minutes are stepped over: from here on only the last one matters.
    if (++count > limits.missedStartsMax && now - at > 3_600_000)
      at = schedule.next(now - 3_600_000)
    else at = schedule.next(at)
    if (at !== undefined && last !== undefined && at <= last) break
  }
  return {
    last,
    missed: count === 0 ? 'none' : count > limits.missedStartsMax ? 'many' : 'few',
    next: at,
  }
}

/** RFC 3339 with the offset that the zone has at that time; UTC without one. */
export const formatInZone = (ms: number, timeZone: string | undefined): string => {
  if (timeZone === undefined) return formatTime(ms)
  const parts = new Intl.DateTimeFormat('en-US', { timeZone, timeZoneName: 'longOffset' })
    .formatToParts(ms)
    .find((part) => part.type === 'timeZoneName')
  const [, sign, hours, minutes] = /GMT([+-])(\d\d):(\d\d)/.exec(parts?.value ?? '') ?? []
  if (sign === undefined) return formatTime(ms)
  const offsetMs = (Number(hours) * 60 + Number(minutes)) * 60_000 * (sign === '-' ? -1 : 1)
  return formatTime(ms + offsetMs).replace('Z', `${sign}${hours}:${minutes}`)
}
