/** All that is wrong with a recorded history, a line each. */
import { findNonLinearizable } from './linearizability.js'
import type { Load } from './load.js'
import { brokenGuarantees } from './watch-guarantees.js'

export const problemsOf = ({ calls, streams, snapshots, oddities }: Load): string[] => {
  const notLinear = findNonLinearizable(calls)
  return [
    ...oddities,
    ...(notLinear === undefined ? [] : [notLinear]),
    ...brokenGuarantees(streams, calls, snapshots),
  ]
}
