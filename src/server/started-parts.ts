/** What a server has opened and started: all of it ends, the last first, also where only some of it could be started. */

/** What AsyncDisposableStack is in Node 24. */
export class StartedParts {
  readonly #ends: (() => Promise<void>)[] = []
  #ended: Promise<void> | undefined

  /** `end` is called once, when everything deferred later has ended. */
  defer(end: () => Promise<void>): void {
    this.#ends.push(end)
  }

  /** A part that cannot end does not keep the others open. Rejects with the first error. */
  end(): Promise<void> {
    this.#ended ??= this.#endAll()
    return this.#ended
  }

  async #endAll(): Promise<void> {
    const errors: unknown[] = []
    for (const end of this.#ends.reverse()) {
      try {
        await end()
      } catch (error) {
        errors.push(error)
      }
    }
    if (errors.length > 0) throw errors[0]
  }
}
