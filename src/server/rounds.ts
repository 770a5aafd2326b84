/**
 * Work that is done again and again. While a round takes longer than the pause, as with a store that does not answer,
 * no other queues behind it: `stop` would have to wait for all of them.
 */
export class Rounds {
  #timer: NodeJS.Timeout | undefined
  #round: Promise<void> | undefined

  /** `work` does not reject. */
  start(everyMs: number, work: () => Promise<void>): void {
    this.#timer = setInterval(() => {
      this.#round ??= work().finally(() => {
        this.#round = undefined
      })
    }, everyMs)
    this.#timer.unref()
  }

  /** Resolves when the round that runs has ended. */
  async stop(): Promise<void> {
    clearInterval(this.#timer)
    await this.#round
  }
}
