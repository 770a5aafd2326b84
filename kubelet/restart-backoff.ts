/** How long a container that keeps ending waits before it starts again: 10 s, doubling to 5 minutes. */

export interface BackoffOptions {
  readonly initialMs: number
  readonly maxMs: number
}

export const defaultBackoff: BackoffOptions = { initialMs: 10_000, maxMs: 300_000 }

export class RestartBackoff {
  readonly #options: BackoffOptions
  readonly #entries = new Map<string, { delayMs: number; updatedAt: number }>()

  constructor(options: BackoffOptions) {
    this.#options = options
  }

  /**
   * Milliseconds until a container that ended at `finishedAt` may start again, 0 for now; the caller that gets 0
   * starts it, and the next wait is longer.
   */
  next(key: string, finishedAt: number, now: number): { waitMs: number; delayMs: number } {
    const entry = this.#entries.get(key)
    // A container that has run well for long starts again without a delay.
    const known = entry && finishedAt - entry.updatedAt <= 2 * this.#options.maxMs
    if (!known) {
      this.#entries.set(key, { delayMs: this.#options.initialMs, updatedAt: now })
      return { waitMs: 0, delayMs: 0 }
    }
    const waitMs = finishedAt + entry.delayMs - now
    if (waitMs > 0) return { waitMs, delayMs: entry.delayMs }
    const delayMs = Math.min(this.#options.maxMs, 2 * entry.delayMs)
    this.#entries.set(key, { delayMs, updatedAt: now })
    return { waitMs: 0, delayMs: entry.delayMs }
  }
}

/** As Go prints a duration of whole milliseconds. */
export const formatDuration = (ms: number): string => {
  if (ms > 0 && ms < 1000) return `${ms}ms`
  const seconds = `${(ms % 60_000) / 1000}s`
  const minutes = Math.floor(ms / 60_000)
  const hours = Math.floor(minutes / 60)
  if (hours > 0) return `${hours}h${minutes % 60}m${seconds}`
  return minutes > 0 ? `${minutes}m${seconds}` : seconds
}
