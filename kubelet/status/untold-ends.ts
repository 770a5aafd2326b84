/** Containers that have ended and whose end no status has told of yet. */
import type { Container } from '../runtime.js'

export class UntoldEnds {
  #told: ReadonlySet<string> = new Set()

  /** Whether there were any among them; they count as told from now on. */
  take(containers: readonly Container[]): boolean {
    const ended = containers.filter(({ state }) => state === 'exited').map(({ id }) => id)
    const hasUntold = ended.some((id) => !this.#told.has(id))
    this.#told = new Set(ended)
    return hasUntold
  }
}
