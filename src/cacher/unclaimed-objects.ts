/** Objects of resources that nobody has asked for yet, by their first folder. */
import { addToList } from '#collections/add-to-list.js'
import type { KeyValue } from '#storage/driver.js'
import { SortedMap } from '#storage/sorted-map.js'
import { versionOf } from './direct-storage.js'
import type { StoredVersion, WorkingSets } from './stored-version.js'

export class UnclaimedObjects {
  readonly #prefix: string
  readonly #sets: WorkingSets
  readonly #objects = new Map<string, SortedMap<StoredVersion>>()
  /** Values found when the store was opened, by folder, until somebody looks into it. */
  readonly #found = new Map<string, KeyValue[]>()

  /** Whether anything that was here could not be decrypted. */
  hasUnreadable = false

  /** `prefix` is what every key starts with. */
  constructor(prefix: string, sets: WorkingSets) {
    this.#prefix = prefix
    this.#sets = sets
  }

  /** In the order of their keys, before anyone asks for a resource. */
  add(kv: KeyValue): void {
    const folder = this.#folderOf(kv.key)
    addToList(this.#found, folder, kv)
  }

  /** Without a version the object is gone. */
  set(key: string, version: StoredVersion | undefined): void {
    const objects = this.#in(this.#folderOf(key))
    if (version?.why !== undefined) this.hasUnreadable = true
    if (version === undefined) objects.delete(key)
    else objects.set(key, version)
  }

  /** Takes out the objects of a resource; its cache owns them from then on. */
  take(prefix: string): SortedMap<StoredVersion> {
    if (this.#objects.has(prefix) || this.#found.has(prefix)) {
      const folder = this.#in(prefix)
      this.#objects.delete(prefix)
      return folder
    }
    const objects = new SortedMap<StoredVersion>()
    const around = this.#in(this.#folderOf(prefix))
    around.scan(prefix, prefix, (version, key) => objects.set(key, version))
    objects.scan(prefix, prefix, (_, key) => around.delete(key))
    return objects
  }

  #folderOf(key: string): string {
    return key.slice(0, key.indexOf('/', this.#prefix.length) + 1)
  }

  #in(folder: string): SortedMap<StoredVersion> {
    let objects = this.#objects.get(folder)
    if (objects === undefined) {
      this.#objects.set(folder, (objects = new SortedMap()))
      for (const kv of this.#found.get(folder) ?? []) {
        const version = versionOf(kv, this.#sets)
        if (version.why !== undefined) this.hasUnreadable = true
        objects.set(kv.key, version)
      }
      this.#found.delete(folder)
    }
    return objects
  }
}
