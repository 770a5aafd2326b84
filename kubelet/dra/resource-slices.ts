/** ResourceSlices of drivers that are gone: the scheduler must not choose their devices. Upstream: dra_plugin_manager.go. */
import { withOwnSignal } from '#async/own-signal.js'
import { sleep } from '#async/sleep.js'
import type { Client } from '#client/client.js'
import { messageOf } from '#client/errors.js'
import type { Log } from '#client/log.js'
import { resources } from '#client/resources.js'
import { untilDone } from '../until-done.js'

/** A driver that is only being replaced comes back within this time; upstream's defaultWipingDelay. */
const delayMsDefault = 30_000
const retryMs = { baseMs: 5_000, maxMs: 300_000 }

interface SlicesOptions {
  readonly client: Client
  readonly nodeName: string
  readonly log: Log
  /** Ends the waiting. */
  readonly signal: AbortSignal
  readonly delayMs?: number
}

export class ResourceSlices {
  readonly #options: SlicesOptions
  readonly #leaving = new Map<string, AbortController>()

  constructor(options: SlicesOptions) {
    this.#options = options
  }

  /** The driver serves this node again. */
  keep(driver: string): void {
    this.#leaving.get(driver)?.abort()
    this.#leaving.delete(driver)
  }

  /** The driver is gone; unless it comes back soon its slices of this node go, too. */
  leave(driver: string): void {
    const { signal, delayMs = delayMsDefault } = this.#options
    if (signal.aborted || this.#leaving.has(driver)) return
    void withOwnSignal(signal, async (back) => {
      this.#leaving.set(driver, back)
      await sleep(delayMs, back.signal)
      await this.#deleteUntilDone(driver, back.signal)
      if (this.#leaving.get(driver) === back) this.#leaving.delete(driver)
    })
  }

  async #deleteUntilDone(driver: string, signal: AbortSignal): Promise<void> {
    const { client, nodeName, log } = this.#options
    const fieldSelector = `spec.driver=${driver},spec.nodeName=${nodeName}`
    await untilDone(
      () => client.deleteCollection(resources.resourceSlices, { fieldSelector }),
      (error) => log.warn({ driver, error: messageOf(error) }, 'ResourceSlices were not deleted'),
      { signal, retryMs },
    )
  }
}
