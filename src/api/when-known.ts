/** `use(value)` at once where the value is there, else when its promise resolves: what need not wait makes no promise. */
export const whenKnown = <T, R>(
  value: T | Promise<T>,
  use: (value: T) => R | Promise<R>,
): R | Promise<R> => (value instanceof Promise ? value.then(use) : use(value))
