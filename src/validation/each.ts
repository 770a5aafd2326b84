/** Loops over lists and maps of a spec, with the path of each element. */

import { type FieldError, index } from '#api/field-error.js'
import { sortedKeys } from '#json/entries.js'

/** For lists that may be long, `isFine` tells what need not be checked, so that no path is made for it. */
export const each = <T>(
  path: string,
  list: readonly T[] | undefined | null,
  check: (item: T, path: string, at: number) => FieldError[],
  isFine?: (item: T) => boolean,
): FieldError[] => {
  const errors: FieldError[] = []
  const length = list?.length ?? 0
  for (let at = 0; at < length; at++) {
    if (isFine?.(list![at]!)) continue
    const found = check(list![at]!, index(path, at), at)
    if (found.length > 0) errors.push(...found)
  }
  return errors
}

/** Keys in order: upstream's order is that of a Go map, which is none. */
export const eachEntry = <T>(
  path: string,
  map: Readonly<Record<string, T>> | undefined | null,
  check: (key: string, value: T, path: string) => FieldError[],
): FieldError[] => {
  const errors: FieldError[] = []
  for (const key of sortedKeys(map ?? {})) errors.push(...check(key, map![key]!, index(path, key)))
  return errors
}
