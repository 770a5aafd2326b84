/** One change of one object in the ring, and the views of it that watchers share. */
import { internalError } from '#api/errors.js'
import type { ObjectEvent, Selection, StoredObject, WatchEventType } from './object-storage.js'
import type { StoredVersion } from './stored-version.js'

export class Change {
  readonly revision: number
  readonly key: string
  /** Undefined: the object was deleted. */
  readonly current: StoredVersion | undefined
  readonly previous: StoredVersion | undefined
  #added: ObjectEvent | undefined
  #modified: ObjectEvent | undefined
  #deleted: ObjectEvent | undefined

  constructor(
    revision: number,
    current: StoredVersion | undefined,
    previous: StoredVersion | undefined,
  ) {
    this.revision = revision
    this.key = (current ?? previous)!.key
    this.current = current
    this.previous = previous
  }

  /** Bytes that the ring holds because of this change. */
  get size(): number {
    return 300 + this.key.length + (this.previous?.size ?? 0)
  }

  /**
   * What a watcher of `selection` sees: an object that enters it is ADDED, one that leaves it DELETED with the state
   * before (apiserver, etcd3/watcher.go).
   */
  seenBy(selection: Selection): ObjectEvent | undefined {
    if (!this.key.startsWith(selection.prefix)) return undefined
    if (selection.key !== undefined && selection.key !== this.key) return undefined
    const { matches } = selection
    const { current, previous } = this
    const why = current === undefined ? previous?.why : current.why
    // A watch that reaches an object that cannot be read ends with that error (etcd3/watcher.go).
    if (why !== undefined) throw internalError(why)
    const is = current !== undefined && (matches === undefined || matches(current))
    const was = previous !== undefined && (matches === undefined || matches(previous))
    if (is) return was ? this.#asModified(current) : this.#asAdded(current)
    return was ? this.#asDeleted(previous) : undefined
  }

  #asAdded(current: StoredVersion): ObjectEvent {
    return (this.#added ??= event('ADDED', current, this.revision))
  }

  #asModified(current: StoredVersion): ObjectEvent {
    return (this.#modified ??= event('MODIFIED', current, this.revision))
  }

  #asDeleted(previous: StoredVersion): ObjectEvent {
    return (this.#deleted ??= event('DELETED', previous.at(this.revision), this.revision))
  }
}

export const event = (
  type: WatchEventType,
  stored: StoredObject,
  revision: number,
): ObjectEvent => ({ type, stored, revision })
