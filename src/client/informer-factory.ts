/** One informer a resource for all controllers of a process; what is namespaced has the index `namespace`. */
import { setMaxListeners } from 'node:events'
import type { PersistedObject } from '#api/object.js'
import { whenAborted } from '#async/sleep.js'
import type { Client } from './client.js'
import { Informer, type InformerOptions } from './informer.js'
import type { Log } from './log.js'
import type { ResourceRef } from './resources.js'

interface InformerFactoryOptions {
  client: Client
  log: Log
}

export class InformerFactory {
  readonly #options: InformerFactoryOptions
  readonly #informers = new Map<string, Informer>()
  readonly #running = new Map<Informer, Promise<void>>()
  #signal: AbortSignal | undefined

  constructor(options: InformerFactoryOptions) {
    this.#options = options
  }

  /** The shared informer; it runs from `start` on, or at once when started already. */
  for<T extends PersistedObject = PersistedObject>(
    ref: ResourceRef,
    { metadataOnly = false }: { metadataOnly?: boolean } = {},
  ): Informer<T> {
    const key = `${ref.group}/${ref.version}/${ref.resource}${metadataOnly ? '?metadata' : ''}`
    const known = this.#informers.get(key)
    if (known !== undefined) return known as unknown as Informer<T>
    const informer = new Informer<PersistedObject>({
      ...this.#options,
      ref,
      metadataOnly,
    })
    // As client-go's factories do: most controllers look at what shares a namespace.
    if (ref.namespaced)
      informer.store.addIndex('namespace', (object) => [object.metadata.namespace ?? ''])
    this.#informers.set(key, informer)
    if (this.#signal !== undefined) this.#running.set(informer, informer.run(this.#signal))
    return informer as unknown as Informer<T>
  }

  /** One more informer, which the caller runs: of some objects of a kind, or of a part of each. */
  separate<T extends PersistedObject>(
    options: Omit<InformerOptions<T>, keyof InformerFactoryOptions>,
  ): Informer<T> {
    return new Informer<T>({ ...this.#options, ...options })
  }

  /** Runs every informer until the signal fires. Resolves when all known ones have synced. */
  async start(signal: AbortSignal): Promise<void> {
    // Every informer and worker of the process listens to this one signal.
    setMaxListeners(0, signal)
    this.#signal = signal
    for (const informer of this.#informers.values())
      if (!this.#running.has(informer)) this.#running.set(informer, informer.run(signal))
    await this.synced(signal)
  }

  async synced(signal: AbortSignal): Promise<void> {
    await Promise.race([
      Promise.all([...this.#informers.values()].map((informer) => informer.synced())),
      whenAborted(signal),
    ])
  }

  /** Resolves when every informer has ended, after the signal of `start`. */
  async stopped(): Promise<void> {
    await Promise.all(this.#running.values())
  }
}
