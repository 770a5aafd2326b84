/** The clock of one server, as tests see and move it. */

import { invalid } from '#api/errors.js'
import { invalid as invalidField } from '#api/field-error.js'
import { MovableClock } from '#api/movable-clock.js'
import { durationMs, durationProblem } from '#go/duration.js'
import { limits } from '#limits'

/** What time it is for a server, and for the processes that follow it. */
export interface ServerClock {
  /** Milliseconds since the epoch. */
  now(): number
  /** By how many milliseconds it is ahead of the machine's clock. */
  readonly aheadMs: number
  /**
   * Moves it on, by a duration such as `1h30m` or by milliseconds: lifetimes end, schedules are due, graces pass.
   * Throws a 422 for what is no duration, for less than nothing and for more than ten years in all.
   */
  advance(by: string | number): void
}

const problemOf = (by: unknown, aheadMs: number): string | undefined => {
  if (typeof by === 'string') {
    const problem = durationProblem(by)
    if (problem !== undefined) return problem
  } else if (typeof by !== 'number') return 'must be a duration such as 1h30m'
  const ms = msOf(by)
  if (!(ms >= 0)) return 'must be greater than or equal to 0'
  if (aheadMs + ms > limits.clockAheadMsMax) return 'must not move the clock ten years ahead'
  return undefined
}

const msOf = (by: string | number): number =>
  Math.trunc(typeof by === 'string' ? durationMs(by) : by)

export class ClusterClock extends MovableClock implements ServerClock {
  advance(by: string | number): void {
    const problem = problemOf(by, this.aheadMs)
    if (problem !== undefined)
      throw invalid({ group: '', kind: 'Clock' }, '', [invalidField('advance', by, problem)])
    this.setAhead(this.aheadMs + msOf(by))
  }
}
