/**
 * A new value with its old counterpart (apiserver, pkg/cel/common/equality.go). An update may keep invalid parts that it
 * does not change (upstream's CRDValidationRatcheting).
 */
import { stringify } from '#json/json.js'
import { getOwn, isJsonObject, jsonEqual } from '#json/object.js'
import type { JsonValue } from '#json/value.js'
import { type StructuralSchema, valueSchemaOf } from './structural-schema.js'

/** The identity of an item in a list of type map; undefined if a key is missing. */
const identityOf = (item: JsonValue, keys: readonly string[]): string | undefined => {
  if (!isJsonObject(item)) return undefined
  const values = keys.map((key) => getOwn(item, key))
  const isKnown = values.every((v) => v !== undefined && v !== null && typeof v !== 'object')
  return isKnown ? stringify(values) : undefined
}

/** Finds the old item of each: by its keys in a list of type map, else there is none. */
export const oldItemsOf = (
  old: JsonValue | undefined,
  schema: StructuralSchema,
): ((item: JsonValue) => JsonValue | undefined) => {
  const keys = schema['x-kubernetes-list-map-keys'] ?? []
  if (schema['x-kubernetes-list-type'] !== 'map' || !Array.isArray(old) || keys.length === 0)
    return () => undefined
  let known: Map<string, JsonValue> | undefined
  return (item) => {
    const identity = identityOf(item, keys)
    if (identity === undefined) return undefined
    if (known === undefined) {
      known = new Map()
      for (const one of old) {
        const name = identityOf(one, keys)
        if (name !== undefined && !known.has(name)) known.set(name, one)
      }
    }
    return known.get(identity)
  }
}

export class Correlated {
  readonly #value: JsonValue | undefined
  readonly #old: JsonValue | undefined
  readonly #schema: StructuralSchema
  readonly #inner = new Map<string | number, Correlated | undefined>()
  #oldItem: ((item: JsonValue) => JsonValue | undefined) | undefined
  #isUnchanged: boolean | undefined

  constructor(value: JsonValue | undefined, old: JsonValue | undefined, schema: StructuralSchema) {
    this.#value = value
    this.#old = old
    this.#schema = schema
  }

  /** A field that both have and the schema knows. */
  key(name: string): Correlated | undefined {
    return this.#known(name, () => {
      const schema = getOwn(this.#schema.properties, name) ?? valueSchemaOf(this.#schema)
      if (schema === undefined || !isJsonObject(this.#value) || !isJsonObject(this.#old))
        return undefined
      const [value, old] = [getOwn(this.#value, name), getOwn(this.#old, name)]
      return value === undefined || old === undefined
        ? undefined
        : new Correlated(value, old, schema)
    })
  }

  /** An item that a list of type map had before. */
  index(i: number): Correlated | undefined {
    return this.#known(i, () => {
      const { items } = this.#schema
      if (items === undefined || !Array.isArray(this.#value)) return undefined
      this.#oldItem ??= oldItemsOf(this.#old, this.#schema)
      const value = this.#value[i]
      const old = value === undefined ? undefined : this.#oldItem(value)
      return old === undefined ? undefined : new Correlated(value, old, items)
    })
  }

  #known(at: string | number, find: () => Correlated | undefined): Correlated | undefined {
    if (!this.#inner.has(at)) this.#inner.set(at, find())
    return this.#inner.get(at)
  }

  /** Whether nothing changed. Values that the schema has no place for always count as changed. */
  get isUnchanged(): boolean {
    this.#isUnchanged ??= this.#compare()
    return this.#isUnchanged
  }

  #compare(): boolean {
    const [value, old] = [this.#value ?? null, this.#old ?? null]
    if (Array.isArray(value) && Array.isArray(old)) {
      if (value.length !== old.length) return false
      return this.#schema['x-kubernetes-list-type'] === 'map'
        ? value.every((_item, i) => this.index(i)?.isUnchanged === true)
        : jsonEqual(value, old)
    }
    if (!isJsonObject(value) || !isJsonObject(old)) return jsonEqual(value, old)
    const names = Object.keys(value)
    return (
      names.length === Object.keys(old).length &&
      names.every((name) => this.key(name)?.isUnchanged === true)
    )
  }
}
