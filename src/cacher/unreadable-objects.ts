/**
 * What a resource answers when some of its objects cannot be decrypted. Upstream's cache is not ready then: lists and
 * watches are refused until all objects can be read, while each readable one can still be read, written and deleted by
 * its name.
 *
 * Each request asks the store again, since an object may have become readable: a plugin is back, a key was added. After a
 * change of keys an object may also have become unreadable.
 */
import { type ApiError, internalError } from '#api/errors.js'
import type { StorageDriver } from '#storage/driver.js'
import { CacheRefusal } from './cache-refusal.js'
import { listFromDriver, unreadableText, versionOf } from './direct-storage.js'
import type { ListOptions, ListPage, StoredObject } from './object-storage.js'
import type { ResourceCache } from './resource-cache.js'
import type { StoredVersion, WorkingSets } from './stored-version.js'

interface UnreadableDeps {
  readonly driver: StorageDriver
  readonly sets: WorkingSets
  readonly cache: ResourceCache
  /** `*core.Secret`. */
  readonly typeName: string
}

export class UnreadableObjects {
  readonly #deps: UnreadableDeps
  readonly #refuse: CacheRefusal

  constructor(deps: UnreadableDeps) {
    this.#deps = deps
    this.#refuse = new CacheRefusal(deps.typeName)
  }

  /** As the store has it now. Rejects with an ApiError where it cannot be read. */
  async get(key: string): Promise<StoredObject | undefined> {
    const { driver, sets, cache } = this.#deps
    const { kv } = await driver.get(key)
    const version = kv && versionOf(kv, sets)
    if (version?.why !== undefined) throw internalError(version.why)
    if (version === undefined) return undefined
    cache.recover(version)
    const known = cache.get(key)
    return known?.revision === version.revision ? known : version
  }

  /**
   * Undefined: all objects can be read by now. A page without a selector is read from the store (cacher/delegator.go).
   */
  async list(options: ListOptions): Promise<ListPage | undefined> {
    const { driver, sets } = this.#deps
    const first = await this.#firstStillUnreadable()
    if (first === undefined) return undefined
    const { limit, selection, consistency } = options
    if (limit === 0 || selection.matches !== undefined || selection.key !== undefined)
      throw this.#refusal(first)
    const revision = consistency.kind === 'exact' ? consistency.revision : undefined
    return listFromDriver(driver, { ...options, revision }, sets)
  }

  notReady(): ApiError | undefined {
    const [first] = this.#sorted()
    if (first === undefined) return undefined
    // The client will ask again.
    void this.#firstStillUnreadable().catch(() => undefined)
    return this.#refusal(first)
  }

  #sorted(): readonly StoredVersion[] {
    return [...this.#deps.cache.unreadable.values()].sort((a, b) => (a.key < b.key ? -1 : 1))
  }

  /** Reads one after the other, up to the first that still cannot be read. */
  async #firstStillUnreadable(): Promise<StoredVersion | undefined> {
    const { driver, sets, cache } = this.#deps
    for (const { key } of this.#sorted()) {
      const { kv } = await driver.get(key)
      const version = kv && versionOf(kv, sets)
      if (version?.why !== undefined) return version
      if (version !== undefined) cache.recover(version)
    }
    this.#refuse.isOver()
    return undefined
  }

  #refusal({ key, why = '' }: StoredVersion): ApiError {
    return this.#refuse.because(unreadableText(this.#deps.driver.storedKey?.(key) ?? key, why))
  }
}
