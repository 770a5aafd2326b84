import { limits } from '#limits'

/** One call to come: of several wishes the earliest counts. It keeps no process alive. */
export class WakeTimer {
  readonly #wake: () => void
  #timer: NodeJS.Timeout | undefined
  #dueAt = 0

  constructor(wake: () => void) {
    this.#wake = wake
  }

  /** Calls in `ms` milliseconds, or some weeks if that is sooner. */
  wakeIn(ms: number): void {
    const dueAt = performance.now() + ms
    if (this.#timer && this.#dueAt <= dueAt) return
    clearTimeout(this.#timer)
    this.#dueAt = dueAt
    this.#timer = setTimeout(
      () => {
        this.#timer = undefined
        this.#wake()
      },
      Math.min(ms, limits.timerMsMax),
    )
    this.#timer.unref()
  }

  cancel(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
  }
}
