/** Parts of a pod by their names; of equal ones the last counts. */
export const byName = <T extends { readonly name?: string }>(
  list: readonly T[] | null | undefined,
): ReadonlyMap<string, T> => new Map((list ?? []).map((part) => [part.name ?? '', part]))
