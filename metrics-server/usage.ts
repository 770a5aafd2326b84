/** From counters that are read at intervals to usage: pure. Upstream: metrics-server, pkg/storage. */

/** One reading of a node or a container. */
export interface Point {
  readonly atMs: number
  /** Of a container. */
  readonly startedMs?: number
  /** Since it started. */
  readonly cpuSeconds: number
  readonly memoryBytes: number
}

/** What was used between two readings. */
export interface Usage {
  readonly atMs: number
  readonly windowMs: number
  /** Billionths of a core. */
  readonly cpuNano: bigint
  readonly memoryBytes: bigint
}

/** A reading of a container younger than this says little by itself; upstream's freshContainerMinMetricsResolution. */
const freshMinMs = 10_000

/** A container that started since readings were last made has its own start for one: nothing was used then. */
const start = (now: Point, before: Point | undefined, resolutionMs: number): Point | undefined => {
  const { startedMs, atMs } = now
  if (startedMs === undefined) return before
  if (before !== undefined && before.atMs >= startedMs) return before
  const ageMs = atMs - startedMs
  const isFresh = before !== undefined || ageMs < resolutionMs
  return isFresh && ageMs >= freshMinMs
    ? { atMs: startedMs, cpuSeconds: 0, memoryBytes: 0 }
    : undefined
}

/**
 * Undefined as long as there is nothing to compare with, or when the counter went backwards. `resolutionMs` is the time
 * between readings.
 */
export const usageBetween = (
  before: Point | undefined,
  now: Point,
  resolutionMs: number,
): Usage | undefined => {
  const from = start(now, before, resolutionMs)
  if (from === undefined || now.atMs <= from.atMs || now.cpuSeconds < from.cpuSeconds)
    return undefined
  const windowMs = now.atMs - from.atMs
  return {
    atMs: now.atMs,
    windowMs,
    cpuNano: BigInt(Math.round(((now.cpuSeconds - from.cpuSeconds) * 1e12) / windowMs)),
    memoryBytes: BigInt(Math.round(now.memoryBytes)),
  }
}
