/** How the tables print a length of time (apimachinery, util/duration HumanDuration). */
import { int64Max } from '#json/int64.js'

const withRest = (n: number, unit: string, rest: number, restUnit: string): string =>
  rest === 0 ? `${n}${unit}` : `${n}${unit}${rest}${restUnit}`

/** Go's time.Duration ends here: what is longer ago is shown as if it were not. */
const longestMs = Number(int64Max / 1_000_000n)

/** `95s`, `3m20s`, `5h`, `2d3h`, `3y40d`; `<invalid>` when more than a second in the future. */
export const humanDuration = (ms: number): string => {
  const seconds = Math.trunc(Math.min(ms, longestMs) / 1000)
  if (seconds < -1) return '<invalid>'
  if (seconds < 0) return '0s'
  if (seconds < 120) return `${seconds}s`
  const minutes = Math.trunc(seconds / 60)
  if (minutes < 10) return withRest(minutes, 'm', seconds % 60, 's')
  if (minutes < 180) return `${minutes}m`
  const hours = Math.trunc(minutes / 60)
  if (hours < 8) return withRest(hours, 'h', minutes % 60, 'm')
  if (hours < 48) return `${hours}h`
  const days = Math.trunc(hours / 24)
  if (days < 8) return withRest(days, 'd', hours % 24, 'h')
  if (days < 365 * 2) return `${days}d`
  if (days < 365 * 8) return withRest(Math.trunc(days / 365), 'y', days % 365, 'd')
  return `${Math.trunc(days / 365)}y`
}
