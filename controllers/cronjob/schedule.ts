/** Which times of a CronJob's schedule are due. Pure. */

import { Cron } from 'croner'
import { formatTime } from '#api/clock.js'
import { type CronFields, readCronSchedule } from '#api/cron-schedule.js'
import { limits } from '#limits'

export interface Schedule {
  /** The first time after `afterMs`, in ms since the epoch; undefined when there is none. */
  next(afterMs: number): number | undefined
}

/** Go knows two names of UTC that are no zones of the database. */
const zoneNamed = (name: string): string => (['Local', 'Factory'].includes(name) ? 'UTC' : name)

/** Croner has rules of its own for stars, steps and two kinds of days: it is given the values. */
const timesOf = (
  { minute, hour, day, month, weekday }: CronFields,
  zone: string,
): Cron | undefined => {
  const lists = [minute, hour, day, month, weekday].map(({ values }) => [...values].join())
  // A lone comma is a field without values.
  if (lists.includes('')) return undefined
  return new Cron(lists.join(' '), {
    paused: true,
    domAndDow: day.hasStar || weekday.hasStar,
    timezone: zoneNamed(zone),
  })
}

/**
 * Throws for what is no schedule. `@every` counts from the time it is asked about. In the nights in which clocks are changed
 * croner's rules hold, not robfig/cron's: a time that is left out comes behind the gap, and one that comes twice counts once.
 */
export const parseSchedule = (text: string, timeZone = 'UTC'): Schedule => {
  const { zone = timeZone, time } = readCronSchedule(text)
  if ('everyMs' in time) return { next: (after) => Math.floor(after / 1000) * 1000 + time.everyMs }
  const times = timesOf(time, zone)
  return { next: (after) => times?.nextRun(formatTime(after))?.getTime() }
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
export const formatInZone = (ms: number, timeZone = 'UTC'): string => {
  const parts = new Intl.DateTimeFormat('en-US', {
    timeZone: zoneNamed(timeZone),
    timeZoneName: 'longOffset',
  })
    .formatToParts(ms)
    .find((part) => part.type === 'timeZoneName')
  const [, sign, hours = 0, minutes = 0] = /GMT([+-])(\d\d):(\d\d)/.exec(parts?.value ?? '') ?? []
  const east = (Number(hours) * 60 + Number(minutes)) * 60_000
  if (east === 0) return formatTime(ms)
  return formatTime(sign === '-' ? ms - east : ms + east).replace('Z', `${sign}${hours}:${minutes}`)
}
