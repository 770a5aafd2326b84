/** `use(value)` at once where the value is there, else when its promise resolves: what need not wait makes no promise. */
export const whenKnown = <T, R>(
  value: T | Promise<T>,
  use: (value: T) => R | Promise<R>,
): R | Promise<R> => (value instanceof Promise ? value.then(use) : use(value))

/** All of them at once where none has to be waited for. */
export const allKnown = <T>(values: readonly (T | Promise<T>)[]): readonly T[] | Promise<T[]> =>
  values.some((value) => value instanceof Promise) ? Promise.all(values) : (values as readonly T[])
