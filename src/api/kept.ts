/**
 * A cache of what was made of a text. When it is full it is emptied: where only a handful of texts come it never fills,
 * and where many come, letting go of the oldest first would not make it more useful.
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
