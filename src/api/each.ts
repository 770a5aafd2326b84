/** Loops over lists and maps of a spec, with the path of each element. They end when there are more errors than are told. */

import { type FieldError, index } from '#api/field-error.js'
import { pushAll } from '#collections/push-all.js'
import { sortedKeys } from '#json/entries.js'
import { limits } from '#limits'

const charactersOf = (errors: readonly FieldError[]): number =>
  errors.reduce((sum, { field, body }) => sum + field.length + body.length, 0)

/** More is not told (errors.ts): there may be too many, or each may show a long name. */
const isEnough = (errors: readonly FieldError[], characters: number): boolean =>
  errors.length >= limits.fieldErrorsMax || characters > limits.fieldErrorsCharactersMax

/** For lists that may be long, `isFine` tells what need not be checked, so that no path is made for it. */
export const each = <T>(
  path: string,
  list: readonly T[] | undefined | null,
  check: (item: T, path: string, at: number) => FieldError[],
  isFine?: (item: T) => boolean,
): FieldError[] => {
  const errors: FieldError[] = []
  const length = list?.length ?? 0
  let characters = 0
  for (let at = 0; at < length && !isEnough(errors, characters); at++) {
    if (isFine?.(list![at]!)) continue
    const found = check(list![at]!, index(path, at), at)
    if (found.length === 0) continue
    pushAll(errors, found)
    characters += charactersOf(found)
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
  let characters = 0
  for (const key of sortedKeys(map ?? {})) {
    if (isEnough(errors, characters)) break
    const found = check(key, map![key]!, index(path, key))
    pushAll(errors, found)
    characters += charactersOf(found)
  }
  return errors
}

/** Tells of each item whether an equal one came before it. */
export const makeRepeatCheck = (): ((item: string) => boolean) => {
  const seen = new Set<string>()
  return (item) => {
    const isRepeated = seen.has(item)
    seen.add(item)
    return isRepeated
  }
}
