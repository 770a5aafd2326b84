/** The resource table: every served version of every resource, built-in rows first, custom ones as CRDs come and go. */
import assert from 'node:assert'
import {
  type GroupResource,
  type GroupVersionKind,
  type GroupVersionResource,
  kindKey,
} from '#api/group-version.js'
import { addToList } from '#collections/add-to-list.js'
import { builtInRows } from './built-in-rows.js'
import type { KindDefinition, ResourceDefinition } from './resource-definition.js'

export interface ResourceTable extends Iterable<ResourceDefinition> {
  get(gvr: GroupVersionResource): ResourceDefinition | undefined
  byKind(gvk: GroupVersionKind): ResourceDefinition | undefined
  /** The row whose version storage holds. */
  ofResource(gr: GroupResource): ResourceDefinition | undefined
  /** The served versions of what this row's storage holds, this row among them. */
  equivalentsOf(definition: ResourceDefinition): readonly ResourceDefinition[]
  /** Adds a row, or replaces the one with the same gvr. */
  add(definition: ResourceDefinition): void
  remove(gvr: GroupVersionResource): void
  /** Calls `listener` after each add and remove, until the returned function is called. */
  onChange(listener: (change: TableChange) => void): () => void
}

interface TableChange {
  type: 'added' | 'removed'
  definition: ResourceDefinition
}

const keyOf = (gvr: GroupVersionResource): string => `${gvr.group}/${gvr.version}/${gvr.resource}`

class Rows implements ResourceTable {
  readonly #rows = new Map<string, ResourceDefinition>()
  readonly #byKind = new Map<string, ResourceDefinition>()
  readonly #listeners = new Set<(change: TableChange) => void>()
  /** Answers of `ofResource`, good until the table changes. */
  readonly #stored = new Map<string, Map<string, ResourceDefinition>>()
  /** Rows by their storage, good until the table changes. */
  readonly #byStorage = new Map<string, ResourceDefinition[]>()

  constructor(builtIn: readonly ResourceDefinition[]) {
    for (const row of builtIn) this.#insert(row)
  }

  [Symbol.iterator](): Iterator<ResourceDefinition> {
    return this.#rows.values()
  }

  get(gvr: GroupVersionResource): ResourceDefinition | undefined {
    return this.#rows.get(keyOf(gvr))
  }

  byKind(gvk: GroupVersionKind): ResourceDefinition | undefined {
    return this.#byKind.get(kindKey(gvk))
  }

  ofResource(wanted: GroupResource): ResourceDefinition | undefined {
    const { group, resource } = wanted
    // Nested maps: each admission plugin asks on each write, and building a combined key would cost more.
    const known = this.#stored.get(group)?.get(resource)
    if (known !== undefined) return known
    const found = this.#findStored(wanted)
    if (found === undefined) return undefined
    const ofGroup = this.#stored.get(group)
    if (ofGroup === undefined) this.#stored.set(group, new Map([[resource, found]]))
    else ofGroup.set(resource, found)
    return found
  }

  equivalentsOf({ storagePrefix }: ResourceDefinition): readonly ResourceDefinition[] {
    if (this.#byStorage.size === 0)
      for (const row of this.#rows.values()) {
        addToList(this.#byStorage, row.storagePrefix, row)
      }
    return this.#byStorage.get(storagePrefix) ?? []
  }

  add(definition: ResourceDefinition): void {
    this.#insert(definition)
    this.#tell({ type: 'added', definition })
  }

  remove(gvr: GroupVersionResource): void {
    const definition = this.#rows.get(keyOf(gvr))
    if (definition === undefined) return
    this.#rows.delete(keyOf(gvr))
    const key = kindKey(definition.gvk)
    if (this.#byKind.get(key) === definition) this.#byKind.delete(key)
    this.#tell({ type: 'removed', definition })
  }

  onChange(listener: (change: TableChange) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  #findStored({ group, resource }: GroupResource): ResourceDefinition | undefined {
    for (const row of this.#rows.values())
      if (row.gvr.group === group && row.gvr.resource === resource)
        return this.byKind(row.storageVersion) ?? row
    return undefined
  }

  #insert(definition: ResourceDefinition): void {
    this.#rows.set(keyOf(definition.gvr), definition)
    this.#byKind.set(kindKey(definition.gvk), definition)
  }

  #tell(change: TableChange): void {
    this.#stored.clear()
    this.#byStorage.clear()
    for (const listener of [...this.#listeners]) listener(change)
  }
}

/** `kinds` is src/kinds/index.ts; the registry knows none of them by name. */
export const makeResourceTable = (kinds: readonly KindDefinition[]): ResourceTable => {
  const known = new Map(kinds.map((k) => [kindKey(k), k]))
  assert.strictEqual(known.size, kinds.length, 'a kind is listed twice in src/kinds/index.ts')
  const table = new Rows(builtInRows(known))
  for (const kind of kinds) assert(table.byKind(kind), `${kindKey(kind)} is no kind of this API`)
  return table
}
