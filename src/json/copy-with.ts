/**
 * `{ ...object, ...more }` for code that every request runs. V8 gives an object that begins with a spread and then gains
 * a field a hidden class of its own. Making that class takes 6 µs, ten times the copy; and since no two of these objects
 * share a class, the inline caches of all code that reads them later miss, for as long as the objects live.
 * A field `__proto__`, which Object.assign would take for the prototype, is rare enough for a spread.
 */
export const copyWith = <T extends object>(object: T, more: Partial<T> = {}): T =>
  Object.hasOwn(object, '__proto__') ? { ...object, ...more } : Object.assign({}, object, more)
