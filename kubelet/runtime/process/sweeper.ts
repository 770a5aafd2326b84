/** Ends what a container has left behind outside its process group. Sweeps of many containers share a look at /proc. */
import { addToList } from '#collections/add-to-list.js'
import { limits } from '#limits'
import { killMarked } from './session.js'

/** After a look the sweeper rests for so many times what it took: it must not be what the kubelet mostly does. */
const restFactor = 5
const restMaxMs = 1_000

export class Sweeper {
  readonly #waiting = new Map<string, (() => void)[]>()
  #busy = false

  /** Resolves when no process with the container's marker is left. */
  sweep(containerId: string): Promise<void> {
    return new Promise((resolve) => {
      addToList(this.#waiting, containerId, resolve)
      if (this.#busy) return
      this.#busy = true
      setImmediate(() => this.#sweepAll())
    })
  }

  #sweepAll(): void {
    const batch = new Map(this.#waiting)
    this.#waiting.clear()
    const started = performance.now()
    for (let look = 0; look < limits.sweepsMax; look++) {
      if (killMarked((id) => batch.has(id)) === 0) break
    }
    for (const resolve of [...batch.values()].flat()) resolve()
    const restMs = Math.min(restMaxMs, restFactor * (performance.now() - started))
    setTimeout(() => {
      this.#busy = this.#waiting.size > 0
      if (this.#busy) this.#sweepAll()
    }, restMs)
  }
}
