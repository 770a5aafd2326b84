/** Rings in the order of their changes, with the time of each: what is too old or too much goes from the front. */
import { limits } from '#limits'
import { EventLog } from '#storage/event-log.js'
import type { ResourceCache } from './resource-cache.js'
import type { Change } from './watch-event.js'

interface Entry {
  readonly revision: number
  readonly cache: ResourceCache
  readonly bytes: number
  readonly at: number
}

export class History {
  readonly #entries = new EventLog<Entry>(({ bytes }) => bytes)

  add(cache: ResourceCache, { revision, size }: Change, at: number): void {
    this.#entries.append({ revision, cache, bytes: size, at })
  }

  trim(now: number): void {
    const oldest = now - limits.watchHistoryMs
    while (this.#entries.length > 0) {
      const { cache, at } = this.#entries.at(0)
      if (this.#entries.bytes <= limits.watchHistoryBytesMax && at >= oldest) break
      cache.dropOldest()
      this.#entries.shift()
    }
  }
}
