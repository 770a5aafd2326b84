/** Those who come by in one turn of the event loop go on in the next, one right after the other, in their order. */
import { MessageChannel } from 'node:worker_threads'

export class SharedTurn {
  readonly #ports = new MessageChannel()
  #waiting: (() => void)[] = []
  #isOver = false

  /**
   * A message comes in the phase in which sockets are read. Large answers must be written there: Node takes what is written
   * later in a turn (setImmediate) for unsent while it reads the next request, and fails with one that is large (HPE_PAUSED).
   */
  constructor() {
    this.#ports.port2.on('message', () => this.#begin())
    this.#ports.port2.unref()
  }

  begins(): Promise<void> {
    return new Promise((goOn) => {
      if (this.#isOver) return goOn()
      this.#waiting.push(goOn)
      if (this.#waiting.length > 1) return
      this.#ports.port2.ref()
      this.#ports.port1.postMessage(undefined)
    })
  }

  /** From here on nobody waits for others. */
  end(): void {
    this.#isOver = true
    this.#begin()
    this.#ports.port1.close()
  }

  #begin(): void {
    this.#ports.port2.unref()
    const waiting = this.#waiting
    this.#waiting = []
    for (const goOn of waiting) goOn()
  }
}
