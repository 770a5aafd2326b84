/** How macros collect: into their accumulator, which nothing else can see. */
import { add } from './functions/operators.js'
import type { Planned } from './planned.js'
import { printKey } from './selection.js'
import { CelError, type CelValue, type EntryMap, MapValue, typeNameOf } from './values.js'

/** In place. */
export const appending = (into: Planned, added: Planned): Planned => ({
  run: (evaluation) => {
    const value = into.run(evaluation)
    const more = added.run(evaluation)
    evaluation.spend(1)
    if (!Array.isArray(value) || !Array.isArray(more)) return add(value, more)
    value.push(...more)
    return value
  },
})

const insert = (map: EntryMap, key: CelValue, value: CelValue): void => {
  if (!map.add(key, value)) throw new CelError(`insert failed: key ${printKey(key)} already exists`)
}

/** A key and its value, or all that a map has. */
export const inserting = (into: Planned, added: readonly Planned[]): Planned => ({
  run: (evaluation) => {
    const map = into.run(evaluation) as EntryMap
    const [first, second] = added.map((part) => part.run(evaluation)) as [CelValue, CelValue]
    evaluation.spend(1)
    if (second !== undefined) insert(map, first, second)
    else if (first instanceof MapValue)
      for (const key of first.keys()) insert(map, key, first.valueAt(key))
    else throw new CelError(`no such overload: cel.@mapInsert(map, ${typeNameOf(first)})`)
    return map
  },
})
