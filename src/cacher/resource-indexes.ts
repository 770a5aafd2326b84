/** The indexes of one resource by labels and by selectable fields, each made at its first use. */
import type { KubeObject } from '#api/object.js'
import { eachInTurns } from '#async/turns.js'
import { limits } from '#limits'
import type { Entry, SortedMap } from '#storage/sorted-map.js'
import type { Selection } from './object-storage.js'
import type { Shown, StoredVersion } from './stored-version.js'
import { type Listed, ValueIndex } from './value-index.js'

/** Yields the value of a selectable field, '' when it has none. */
export type SelectableFields = Readonly<Record<string, (object: KubeObject) => string>>

type ReadValue = (version: Shown) => string | undefined

interface Index {
  readonly values: ValueIndex<StoredVersion>
  readonly read: ReadValue
  /** Undefined once every object is in it. */
  making: Promise<void> | undefined
}

/** A value that a selection requires of one index. */
interface Pair {
  readonly name: string
  readonly value: string
  readonly read: ReadValue
}

const isOfLabel = (name: string): boolean => name.startsWith('label ')

interface Choice {
  readonly values: ValueIndex<StoredVersion>
  readonly value: string
}

export class ResourceIndexes {
  readonly #fields: SelectableFields
  readonly #objects: SortedMap<StoredVersion>
  readonly #indexes = new Map<string, Index>()

  constructor(fields: SelectableFields, objects: SortedMap<StoredVersion>) {
    this.#fields = fields
    this.#objects = objects
  }

  /**
   * An object was written, or is gone. If its value cannot be decoded the index is dropped: whoever uses it next makes it
   * anew and gets the error.
   */
  set(entry: Entry<StoredVersion>, current: StoredVersion | undefined): void {
    for (const [name, { values, read }] of this.#indexes)
      try {
        values.set(entry, current === undefined ? undefined : read(current))
      } catch {
        this.#indexes.delete(name)
      }
  }

  clear(): void {
    this.#indexes.clear()
  }

  /** Makes the indexes that `selection` could use; undefined when there is nothing to wait for. */
  prepare(selection: Selection): Promise<unknown> | undefined {
    const making: Promise<void>[] = []
    for (const { name, read } of this.#pairs(selection)) {
      if (!this.#indexes.has(name) && this.#hasRoomFor(name)) this.#make(name, read)
      const index = this.#indexes.get(name)
      if (index?.making !== undefined) making.push(index.making)
    }
    return making.length === 0 ? undefined : Promise.all(making)
  }

  /** The entries of the index that leaves the fewest; undefined when none applies. */
  narrow(selection: Selection): readonly Entry<StoredVersion>[] | undefined {
    const best = this.#best(selection)
    return best?.values.entries(best.value)
  }

  /** All that a selection by one pair finds; undefined when no index applies. */
  listPair(selection: Selection): Listed<StoredVersion> | undefined {
    const best = this.#best(selection)
    return best?.values.list(best.value, selection.prefix)
  }

  #best(selection: Selection): Choice | undefined {
    let best: Choice | undefined
    for (const { name, value } of this.#pairs(selection)) {
      const index = this.#indexes.get(name)
      if (index === undefined || index.making !== undefined) continue
      const { values } = index
      if (best === undefined || values.count(value) < best.values.count(best.value))
        best = { values, value }
    }
    return best
  }

  /** Clients choose labels, and must not take the place of fields, of which a kind has only so many. */
  #hasRoomFor(name: string): boolean {
    if (!isOfLabel(name)) return true
    return [...this.#indexes.keys()].filter(isOfLabel).length < limits.labelIndexesMax
  }

  *#pairs({ fieldEquals, labelEquals }: Selection): Generator<Pair, void> {
    for (const [name, value] of fieldEquals ?? []) {
      const field = Object.hasOwn(this.#fields, name) ? this.#fields[name] : undefined
      // An empty value is what an object without the field has: no index keeps it.
      if (field === undefined || value === '') continue
      yield { name: `field ${name}`, value, read: ({ object }) => field(object) || undefined }
    }
    for (const [name, value] of labelEquals ?? [])
      yield {
        name: `label ${name}`,
        value,
        read: ({ labels }) => (Object.hasOwn(labels, name) ? labels[name] : undefined),
      }
  }

  /** Made in turns of the event loop; writes that come meanwhile are told to this index as to all others. */
  #make(name: string, read: ReadValue): void {
    const values = new ValueIndex<StoredVersion>()
    const entries = this.#objects.all()
    let unreadable = false
    const making = eachInTurns(entries, (entry) => {
      if (unreadable || this.#objects.entry(entry.key) !== entry) return
      try {
        values.set(entry, read(entry.value.inPassing))
      } catch {
        unreadable = true
      }
    })
    const index: Index = {
      values,
      read,
      making: making?.then(() => this.#made(name, index, unreadable)),
    }
    if (making !== undefined || !unreadable) this.#indexes.set(name, index)
  }

  #made(name: string, index: Index, unreadable: boolean): void {
    index.making = undefined
    if (unreadable && this.#indexes.get(name) === index) this.#indexes.delete(name)
  }
}
