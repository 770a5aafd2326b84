/** Containers that have ended and whose end no status has told of yet. */
import type { Container } from '../runtime.js'

export class UntoldEnds {
  readonly #told = new Set<string>()

  /** Whether there were any among them; they count as told from now on. */
  take(containers: readonly Container[]): boolean {
    const untold = containers.filter(({ id, state }) => state === 'exited' && !this.#told.has(id))
    this.#told.clear()
    for (const { id, state } of containers) if (state === 'exited') this.#told.add(id)
    return untold.length > 0
  }
}
