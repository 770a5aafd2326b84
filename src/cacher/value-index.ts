/** Which keys have which value of one label or selectable field: a list by it costs what it returns. */

export class ValueIndex {
  readonly #keysOf = new Map<string, Set<string>>()
  readonly #valueOf = new Map<string, string>()

  /** `value` undefined: the key is gone or has none. */
  set(key: string, value: string | undefined): void {
    const before = this.#valueOf.get(key)
    if (before === value) return
    if (before !== undefined) {
      const keys = this.#keysOf.get(before)!
      keys.delete(key)
      if (keys.size === 0) this.#keysOf.delete(before)
      this.#valueOf.delete(key)
    }
    if (value === undefined) return
    this.#valueOf.set(key, value)
    const keys = this.#keysOf.get(value)
    if (keys === undefined) this.#keysOf.set(value, new Set([key]))
    else keys.add(key)
  }

  keys(value: string): ReadonlySet<string> {
    return this.#keysOf.get(value) ?? none
  }
}

const none: ReadonlySet<string> = new Set()
