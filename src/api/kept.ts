/**
 * What was made of a text, kept for whoever brings the same text again. When there is no room left all of it goes: those
 * who say a handful of things never fill it, and whoever says more would find little there in any order.
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
