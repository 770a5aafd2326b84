/** Goes on at once with what is at hand: who has to wait for nothing makes no promises on the way. */
export const whenKnown = <T, R>(
  value: T | Promise<T>,
  use: (value: T) => R | Promise<R>,
): R | Promise<R> => (value instanceof Promise ? value.then(use) : use(value))
