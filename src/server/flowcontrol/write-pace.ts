/**
 * How often the condition of one flow schema is written: another server that sees its priority level otherwise writes
 * the opposite each time, and without end (upstream's shouldDelayUpdate).
 */
import { limits } from '#limits'

export interface WritePaceDeps {
  /** Milliseconds of a clock that nobody sets. */
  readonly now: () => number
  readonly later: (callback: () => void, ms: number) => void
}

export class WritePace {
  readonly #deps: WritePaceDeps
  /** When each was written within the last minute. */
  readonly #written = new Map<string, readonly number[]>()
  readonly #waiting = new Set<string>()

  constructor(deps: WritePaceDeps) {
    this.#deps = deps
  }

  /** Whether it may be written now, which counts. If not, `again` is called when it may. */
  mayWrite(name: string, again: () => void): boolean {
    const { now, later } = this.#deps
    const at = now()
    const after = at - limits.conditionWritesPeriodMs
    const recent = (this.#written.get(name) ?? []).filter((written) => written > after)
    if (recent.length < limits.conditionWritesMax) {
      this.#written.set(name, [...recent, at])
      return true
    }
    if (!this.#waiting.has(name)) {
      this.#waiting.add(name)
      later(() => {
        this.#waiting.delete(name)
        again()
      }, recent[0]! - after)
    }
    return false
  }

  /** Forgets all others: they are gone. */
  keep(schemas: ReadonlyMap<string, unknown>): void {
    for (const name of this.#written.keys()) if (!schemas.has(name)) this.#written.delete(name)
  }
}
