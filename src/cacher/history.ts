/** All changes in the rings of all resources, oldest first. The oldest are dropped when they are too old or too many. */
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
