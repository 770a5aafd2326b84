import { setTimer } from '#async/set-timer.js'

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
    this.#timer = setTimer(() => {
      this.#timer = undefined
      this.#wake()
    }, ms)
    this.#timer.unref()
  }

  cancel(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
  }
}
