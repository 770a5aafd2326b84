import { limits } from '#limits'

/**
 * A cache by text. When it is full it is emptied: with a handful of texts it never fills, and with many, dropping the
 * oldest first would not make it more useful. Long texts are not kept: most are chosen by clients, who could fill the memory
 * with a few thousand of them.
 */
export class Kept<T> {
  readonly #max: number
  readonly #lengthMax: number
  readonly #made = new Map<string, T>()

  /** For up to `max` texts, of up to `lengthMax` characters. */
  constructor(max: number, lengthMax: number = limits.keptTextLengthMax) {
    this.#max = max
    this.#lengthMax = lengthMax
  }

  /** Throws what `make` throws, and keeps nothing then. */
  of(text: string, make: (text: string) => T): T {
    const known = this.#made.get(text)
    if (known !== undefined || this.#made.has(text)) return known as T
    const made = make(text)
    if (text.length > this.#lengthMax) return made
    if (this.#made.size >= this.#max) this.#made.clear()
    this.#made.set(text, made)
    return made
  }
}
