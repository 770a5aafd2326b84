/** Every version of every Pod, as a client sees it that watches. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Client } from '#client/client.js'
import type { Pod } from '#client/pod.js'
import { resources } from '#client/resources.js'

const againMs = 200

export class PodsSeen {
  readonly #client: Client
  readonly #versions = new Map<string, Pod[]>()
  readonly #gone = new Set<string>()

  constructor(client: Client) {
    this.#client = client
  }

  /** From the first that follows this. */
  expect(key: string): void {
    this.#versions.set(key, [])
    this.#gone.delete(key)
  }

  of(key: string): readonly Pod[] {
    return this.#versions.get(key)!
  }

  isGone(key: string): boolean {
    return this.#gone.has(key)
  }

  /** Until `signal`, over servers that come and go. */
  async follow(signal: AbortSignal): Promise<void> {
    let { resourceVersion } = (await this.#client.list(resources.pods)).metadata
    while (!signal.aborted)
      try {
        const options = { resourceVersion: resourceVersion!, signal }
        for await (const { type, object } of this.#client.watch<Pod>(resources.pods, options)) {
          resourceVersion = object.metadata.resourceVersion
          this.#note(type, object)
        }
      } catch {
        if (!signal.aborted) await sleep(againMs)
      }
  }

  #note(type: string, pod: Pod): void {
    const key = `${pod.metadata.namespace}/${pod.metadata.name}`
    if (type === 'DELETED') this.#gone.add(key)
    else this.#versions.get(key)?.push(pod)
  }
}
