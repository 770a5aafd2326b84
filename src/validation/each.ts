/** Loops over lists and maps of a spec, with the path of each element. */
import { type FieldError, index } from '#api/field-error.js'

export const each = <T>(
  path: string,
  list: readonly T[] | undefined | null,
  check: (item: T, path: string, at: number) => FieldError[],
): FieldError[] => (list ?? []).flatMap((item, at) => check(item, index(path, at), at))

/** Keys in order: upstream's order is that of a Go map, which is none. */
export const eachEntry = <T>(
  path: string,
  map: Readonly<Record<string, T>> | undefined | null,
  check: (key: string, value: T, path: string) => FieldError[],
): FieldError[] =>
  Object.keys(map ?? {})
    .sort()
    .flatMap((key) => check(key, map![key]!, index(path, key)))
