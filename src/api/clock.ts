/**
 * Time is a dependency, so that tests can stop it. This is the only file besides main.ts that may read the wall clock;
 * durations are measured with `performance`, which nobody can set.
 */

export interface Clock {
  /** Milliseconds since the epoch. */
  now(): number
  /**
   * Tells of each move of the clock, by how many milliseconds, until the returned function is called. Who set a timer for
   * a time of this clock has to set it anew then. Missing where nobody moves the clock.
   */
  onMove?(moved: (byMs: number) => void): () => void
}

/** What is written into objects, certificates and tokens. */
export const systemClock: Clock = { now: () => Date.now() }

/**
 * The start of the process plus the time since: it runs evenly even when the machine's clock is set. For lifetimes and
 * ages, as Go's time.Since and etcd's leases.
 */
export const steadyClock: Clock = { now: () => performance.timeOrigin + performance.now() }

/** RFC 3339 with whole seconds: the form of metav1.Time. */
export const formatTime = (epochMs: number): string => {
  const second = Math.floor(epochMs / 1000)
  // Cached: each write formats the current second several times.
  if (second !== latest.second)
    latest = { second, text: `${new Date(second * 1000).toISOString().slice(0, 19)}Z` }
  return latest.text
}
let latest = { second: Number.NaN, text: '' }

/** The day in UTC: 2026-01-31. */
export const formatDate = (epochMs: number): string => new Date(epochMs).toISOString().slice(0, 10)

/** RFC 3339 with microseconds: the form of metav1.MicroTime. */
export const formatMicroTime = (epochMs: number): string =>
  `${new Date(epochMs).toISOString().slice(0, 23)}000Z`

/** A year before 0 or after 9999, which a zone can lead to: Go writes it without JavaScript's sign and zeros. */
const farYear = /^(-?)(\d+)(?=-\d\d-\d\dT)/

/** Milliseconds since the epoch; NaN for what is no RFC 3339 time. */
export const parseTime = (text: string): number => {
  const ms = Date.parse(text)
  if (!Number.isNaN(ms)) return ms
  return Date.parse(
    text.replace(farYear, (_, sign, year) => `${sign || '+'}${year.padStart(6, '0')}`),
  )
}

/** RFC 3339 with whole seconds, as Go writes it in any year. */
export const formatFarTime = (epochMs: number): string =>
  `${new Date(epochMs)
    .toISOString()
    .replace(/^([+-])0*(\d{4,})/, (_, sign, year) => (sign === '-' ? sign : '') + year)
    .slice(0, -'.000Z'.length)}Z`

/** Days of a month, 1 to 12, in the calendar that Go's time package has for all years. */
export const daysIn = (year: number, month: number): number =>
  [31, (year % 4 === 0 && year % 100 !== 0) || year % 400 === 0 ? 29 : 28, 31, 30, 31, 30][
    month - 1
  ] ?? (month === 7 || month === 8 || month === 10 || month === 12 ? 31 : 30)
