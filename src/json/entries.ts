/** Objects that are maps. */
import { compareTexts } from '#go/compare-texts.js'

type Entries<T> = Readonly<Record<string, T>>

export const mapValues = <T, R>(
  map: Entries<T>,
  change: (value: T, key: string) => R,
): Record<string, R> =>
  Object.fromEntries(Object.entries(map).map(([key, value]) => [key, change(value, key)]))

/** The keys in order. A sort takes memory for any list, and what was decoded has its order already. */
export const sortedKeys = (map: object): string[] => {
  const keys = Object.keys(map)
  for (let i = 1; i < keys.length; i++) if (keys[i]! < keys[i - 1]!) return keys.sort()
  return keys
}

/** In the order of their keys, in which Go prints a map. */
export const sortedEntries = <T>(map: Entries<T>): [string, T][] =>
  Object.entries(map).sort(([a], [b]) => compareTexts(a, b))

export const withoutUndefined = <T extends object>(fields: T): T =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as T
