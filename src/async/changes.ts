import { withOwnSignal } from './own-signal.js'
import { sleep } from './sleep.js'

/** Wakes up those who wait for a change. */
export class Changes {
  readonly #waiting = new Set<AbortController>()

  tell(): void {
    for (const own of this.#waiting) own.abort()
  }

  /** Resolves at the next change, after `ms`, or when the signal fires. */
  next(ms: number, signal: AbortSignal): Promise<void> {
    return withOwnSignal(signal, async (own) => {
      this.#waiting.add(own)
      await sleep(ms, own.signal)
      this.#waiting.delete(own)
    })
  }
}
