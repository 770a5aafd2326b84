/** What an informer knows: objects by key, with indexes. Its objects are shared: nobody may change them. */
import type { PersistedObject } from '#api/object.js'

/** `namespace/name`, or `name` for a cluster-scoped object. */
export const keyOf = (object: { metadata: { namespace?: string; name?: string } }): string =>
  object.metadata.namespace
    ? `${object.metadata.namespace}/${object.metadata.name}`
    : (object.metadata.name ?? '')

export const splitKey = (key: string): { namespace: string; name: string } => {
  const slash = key.indexOf('/')
  return slash < 0
    ? { namespace: '', name: key }
    : { namespace: key.slice(0, slash), name: key.slice(slash + 1) }
}

type IndexFunction<T> = (object: T) => readonly string[]

interface Index<T> {
  readonly values: IndexFunction<T>
  readonly keys: Map<string, Set<string>>
}

export class ObjectStore<T extends PersistedObject = PersistedObject> {
  readonly #objects = new Map<string, T>()
  readonly #indexes = new Map<string, Index<T>>()

  /** Adds an index, over what is there already too; adding one of the same name again does nothing. */
  addIndex(name: string, values: IndexFunction<T>): void {
    if (this.#indexes.has(name)) return
    const index: Index<T> = { values, keys: new Map() }
    this.#indexes.set(name, index)
    for (const [key, object] of this.#objects) enter(index, key, object)
  }

  get(key: string): T | undefined {
    return this.#objects.get(key)
  }
  list(): T[] {
    return [...this.#objects.values()]
  }
  keys(): string[] {
    return [...this.#objects.keys()]
  }
  get size(): number {
    return this.#objects.size
  }

  byIndex(name: string, value: string): T[] {
    const index = this.#indexes.get(name)
    if (index === undefined) throw new Error(`no index ${name}`)
    const found: T[] = []
    for (const key of index.keys.get(value) ?? []) found.push(this.#objects.get(key)!)
    return found
  }

  set(key: string, object: T): void {
    const previous = this.#objects.get(key)
    this.#objects.set(key, object)
    for (const index of this.#indexes.values()) {
      if (previous !== undefined) leave(index, key, previous)
      enter(index, key, object)
    }
  }

  delete(key: string): void {
    const previous = this.#objects.get(key)
    if (previous === undefined) return
    for (const index of this.#indexes.values()) leave(index, key, previous)
    this.#objects.delete(key)
  }
}

const enter = <T>(index: Index<T>, key: string, object: T): void => {
  for (const value of index.values(object)) {
    const keys = index.keys.get(value)
    if (keys === undefined) index.keys.set(value, new Set([key]))
    else keys.add(key)
  }
}

const leave = <T>(index: Index<T>, key: string, object: T): void => {
  for (const value of index.values(object)) {
    const keys = index.keys.get(value)
    if (keys === undefined) continue
    keys.delete(key)
    if (keys.size === 0) index.keys.delete(value)
  }
}
