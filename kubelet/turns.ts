/** Calls that concern the same things take turns, in the order in which they came; others go on meanwhile. */
export class Turns {
  readonly #last = new Map<string, Promise<unknown>>()

  /** Acts once all earlier calls that share a key have come to their end. */
  next<T>(keys: readonly string[], act: () => Promise<T>): Promise<T> {
    const turn = Promise.all(keys.map((key) => this.#last.get(key))).then(act)
    const over = turn.then(
      () => {},
      () => {},
    )
    for (const key of keys) this.#last.set(key, over)
    void over.then(() => {
      for (const key of keys) if (this.#last.get(key) === over) this.#last.delete(key)
    })
    return turn
  }
}
