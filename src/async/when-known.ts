/**
 * `use(value)` at once if there is a value, or when its promise resolves: no promise where there is nothing to wait for.
 */
export const whenKnown = <T, R>(
  value: T | Promise<T>,
  use: (value: T) => R | Promise<R>,
): R | Promise<R> => (value instanceof Promise ? value.then(use) : use(value))

/** All of them at once where none has to be waited for. */
export const allKnown = <T>(values: readonly (T | Promise<T>)[]): readonly T[] | Promise<T[]> =>
  values.some((value) => value instanceof Promise) ? Promise.all(values) : (values as readonly T[])
