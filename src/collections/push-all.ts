/** Adds all items to a list, of any length: as arguments of one call, a hundred thousand would overflow the stack. */
export const pushAll = <T>(list: T[], items: readonly T[]): void => {
  for (const item of items) list.push(item)
}
