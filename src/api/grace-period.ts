/** How long the grace of a delete is, whatever number of seconds somebody gave. */
import type { Int64 } from '#json/int64.js'
import { parseTime } from './clock.js'
import type { KubeObject } from './object.js'

/** Go's time.Duration counts nanoseconds in an int64, which overflows beyond 292 years. */
export const graceMs = (seconds: Int64): number =>
  Number(BigInt.asIntN(64, BigInt(seconds) * 1_000_000_000n)) / 1e6

/** When the delete was asked for: the timestamp on the object is when the grace is over. */
export const deletionAskedAt = ({ metadata }: KubeObject): number | undefined =>
  metadata.deletionTimestamp === undefined
    ? undefined
    : parseTime(metadata.deletionTimestamp) - graceMs(metadata.deletionGracePeriodSeconds ?? 0)
