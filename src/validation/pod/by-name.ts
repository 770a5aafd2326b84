/** Parts of a pod that is stored, by their names: each is there once. */
export const byName = <T extends { readonly name?: string }>(
  list: readonly T[] | null | undefined,
): ReadonlyMap<string, T> => new Map((list ?? []).map((part) => [part.name ?? '', part]))
