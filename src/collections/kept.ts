/**
 * A cache by text. When it is full it is emptied: with a handful of texts it never fills, and with many, dropping the
 * oldest first would not make it more useful.
 */
export class Kept<T> {
  readonly #max: number
  readonly #made = new Map<string, T>()

  /** For up to `max` texts. */
  constructor(max: number) {
    this.#max = max
  }

  /** Throws what `make` throws, and keeps nothing then. */
  of(text: string, make: (text: string) => T): T {
    const known = this.#made.get(text)
    if (known !== undefined || this.#made.has(text)) return known as T
    const made = make(text)
    if (this.#made.size >= this.#max) this.#made.clear()
    this.#made.set(text, made)
    return made
  }
}
