/** Ends what a container has left behind outside its process group. Sweeps of many containers share a look at /proc. */
import { sleep } from '#async/sleep.js'
import { addToList } from '#collections/add-to-list.js'
import { limits } from '#limits'
import { killMarked } from './session.js'

/** After a look the sweeper rests for so many times what it took: it must not be what the kubelet mostly does. */
const restFactor = 5
const restMaxMs = 1_000
/** What was killed is looked for again after this; it doubles. The kernel ends it when it gets a processor again. */
const againMs = { first: 1, last: 200 }

export class Sweeper {
  readonly #waiting = new Map<string, (() => void)[]>()
  readonly #killMarked: typeof killMarked
  #busy = false

  constructor(kill = killMarked) {
    this.#killMarked = kill
  }

  /** Resolves when no process with the container's marker is left. */
  sweep(containerId: string): Promise<void> {
    return new Promise((resolve) => {
      addToList(this.#waiting, containerId, resolve)
      if (this.#busy) return
      this.#busy = true
      setImmediate(() => void this.#sweepAll())
    })
  }

  async #sweepAll(): Promise<void> {
    const batch = new Map(this.#waiting)
    this.#waiting.clear()
    let tookMs = 0
    for (let look = 0; look < limits.sweepsMax; look++) {
      if (look > 0) await sleep(Math.min(againMs.last, againMs.first * 2 ** (look - 1)))
      const started = performance.now()
      const found = this.#killMarked((id) => batch.has(id))
      tookMs += performance.now() - started
      if (found === 0) break
    }
    for (const resolve of [...batch.values()].flat()) resolve()
    setTimeout(
      () => {
        this.#busy = this.#waiting.size > 0
        if (this.#busy) void this.#sweepAll()
      },
      Math.min(restMaxMs, restFactor * tookMs),
    )
  }
}
