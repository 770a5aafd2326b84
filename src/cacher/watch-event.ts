/** One change of one object in the ring, and the views of it that watchers share. */
import { internalError } from '#api/errors.js'
import type { ObjectEvent, Selection, StoredObject, WatchEventType } from './object-storage.js'
import type { SelectableFields } from './resource-indexes.js'
import type { StoredVersion } from './stored-version.js'

/** What a field is in the states before and after a change; undefined where there is no state. */
interface FieldOfChange {
  readonly name: string
  readonly is: string | undefined
  readonly was: string | undefined
}

export class Change {
  readonly revision: number
  readonly key: string
  /** Undefined: the object was deleted. */
  readonly current: StoredVersion | undefined
  readonly previous: StoredVersion | undefined
  #added: ObjectEvent | undefined
  #modified: ObjectEvent | undefined
  #deleted: ObjectEvent | undefined
  /** The field that was asked for last. */
  #field: FieldOfChange | undefined

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
   * What a watcher of `selection` sees: an object that enters it is ADDED, one that leaves it DELETED with the state before
   * (apiserver, etcd3/watcher.go). `fields` are those that a selection may require.
   */
  seenBy(selection: Selection, fields: SelectableFields): ObjectEvent | undefined {
    if (!this.key.startsWith(selection.prefix)) return undefined
    if (selection.key !== undefined && selection.key !== this.key) return undefined
    const { matches } = selection
    const { current, previous } = this
    const why = current === undefined ? previous?.why : current.why
    // A watch that reaches an object that cannot be read ends with that error (etcd3/watcher.go).
    if (why !== undefined) throw internalError(why)
    if (selection.fieldEquals !== undefined && !this.#mayFit(selection.fieldEquals, fields))
      return undefined
    const is = current !== undefined && (matches === undefined || matches(current))
    const was = previous !== undefined && (matches === undefined || matches(previous))
    if (is) return was ? this.#asModified(current) : this.#asAdded(current)
    return was ? this.#asDeleted(previous) : undefined
  }

  /**
   * Whether one of the states has a value that is required of a field. It is read once for all watchers: there is one for
   * each node, and those that resume would decode each object of the history for themselves.
   */
  #mayFit(required: ReadonlyMap<string, string>, fields: SelectableFields): boolean {
    for (const [name, value] of required) {
      if (this.#field?.name !== name) {
        const read = Object.hasOwn(fields, name) ? fields[name] : undefined
        if (read === undefined) continue
        const valueIn = (version: StoredVersion | undefined) =>
          version && read(version.inPassing.object)
        this.#field = { name, is: valueIn(this.current), was: valueIn(this.previous) }
      }
      const { is, was } = this.#field
      return is === value || was === value
    }
    return true
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
