/** All that is wrong with a recorded history, a line each. */
import { findNonLinearizable } from './linearizability.js'
import type { Load } from './load.js'
import { settleUnknown } from './settle.js'
import { brokenGuarantees } from './watch-guarantees.js'

export const problemsOf = ({
  calls,
  streams,
  snapshots,
  oddities,
}: Pick<Load, 'calls' | 'streams' | 'snapshots' | 'oddities'>): string[] => {
  const notLinear = findNonLinearizable(settleUnknown(calls, streams, snapshots))
  return [
    ...oddities,
    ...(notLinear === undefined ? [] : [notLinear]),
    ...brokenGuarantees(streams, calls, snapshots),
  ]
}
