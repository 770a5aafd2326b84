/** Times of a CronJob: robfig/cron's dialect on top of croner. Pure. */

import { Cron } from 'croner'
import { formatTime } from '#api/clock.js'
import { durationMs, durationProblem } from '#go/duration.js'
import { getOwn } from '#json/object.js'
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
  const fields = (getOwn(descriptors, spec) ?? spec).toUpperCase()
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

/** `at`: the last time that is due; undefined when none is. `many`: so many were missed that a clock may be wrong. */
type DueTime = { readonly at?: number; readonly missed: 'none' | 'few' | 'many' }

/**
 * What is due in (`from`, `now`]. Undefined for a schedule without such times, like the 31st of February. How many
 * were missed is guessed from the first two, and where that guess leads past the last of them none is due (upstream:
 * mostRecentScheduleTime).
 */
export const dueTime = (schedule: Schedule, from: number, now: number): DueTime | undefined => {
  const first = schedule.next(from)
  if (first === undefined) return undefined
  if (now < first) return { missed: 'none' }
  const second = schedule.next(first)
  if (second === undefined) return undefined
  if (now < second) return { at: first, missed: 'none' }
  const between = second - first
  const count = Math.floor((now - first) / between) + 1
  const missed = count > limits.missedStartsMax ? 'many' : 'few'
  const guess = schedule.next(first + (count - 2) * between)
  if (guess === undefined || guess > now) return { missed }
  return { at: lastBefore(schedule, guess, now), missed }
}

/** The last time up to `now`, of which `known` is one. Halves what is left, since it may be a year of minutes. */
const lastBefore = (schedule: Schedule, known: number, now: number): number => {
  let last = known
  let end = now
  for (;;) {
    const next = schedule.next(last)
    if (next === undefined || next > now) return last
    last = next
    const middle = last + Math.floor((end - last) / 2)
    const far = schedule.next(middle)
    if (far !== undefined && far <= now) last = far
    else end = middle
  }
}

/** The next time after what is due; `from` does not move with a deadline (upstream: nextScheduleTimeDuration). */
export const nextTime = (schedule: Schedule, from: number, now: number): number | undefined => {
  const due = dueTime(schedule, from, now)
  const isAhead = due?.missed === 'none' && due.at === undefined
  return schedule.next(due?.at ?? (isAhead ? from : now))
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
