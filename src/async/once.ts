/** Calls `make` once and returns its result from then on. A `make` that throws is called again. */
export const once = <T>(make: () => T): (() => T) => {
  let made: { readonly value: T } | undefined
  return () => {
    made ??= { value: make() }
    return made.value
  }
}

interface Kept<K, V> {
  get(key: K): V | undefined
  set(key: K, value: V): unknown
}

const oncePerKey =
  <K, V>(make: (key: K) => V, made: Kept<K, V>): ((key: K) => V) =>
  (key) => {
    let value = made.get(key)
    if (value === undefined) {
      value = make(key)
      made.set(key, value)
    }
    return value
  }

/** The same for each key. There are only so many keys: all that was made is kept. */
export const oncePer = <K extends string, V>(make: (key: K) => V): ((key: K) => V) =>
  oncePerKey(make, new Map())

/** Kept as long as the object that it was made of. */
export const oncePerObject = <K extends object, V>(make: (key: K) => V): ((key: K) => V) =>
  oncePerKey(make, new WeakMap())
