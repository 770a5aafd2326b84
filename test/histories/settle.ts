/**
 * What the watches tell about calls without an answer. Every value is written once, so that a write whose value nobody
 * ever saw did not happen, and one that was seen did. Without this the search for an order tries every subset of the
 * calls that an outage cut off. A write that happened and was kept from every watch is found by what the watches are
 * checked for: their view must agree with every list and every answer.
 */
import type { Call } from './linearizability.js'
import type { Snapshot, WatchStream } from './watch-guarantees.js'

export const settleUnknown = (
  calls: readonly Call[],
  streams: readonly WatchStream[],
  snapshots: readonly Snapshot[],
): Call[] => {
  const seen = new Set<string>()
  const deleted = new Map<string, Map<number, string>>()
  for (const { records } of streams.filter(({ isWhole }) => isWhole)) {
    for (const record of records) {
      if (record.kind !== 'event') continue
      seen.add(record.value)
      if (record.type !== 'DELETED') continue
      const ofKey = deleted.get(record.key) ?? new Map()
      deleted.set(record.key, ofKey.set(record.revision, record.value))
    }
  }
  for (const { items } of snapshots) for (const { value } of items.values()) seen.add(value)
  /** When the first read that found a value was over: its write was done by then. */
  const found = new Map<string, number>()
  for (const call of calls) {
    if (call.found === undefined) continue
    seen.add(call.found)
    found.set(call.found, Math.min(found.get(call.found) ?? call.end, call.end))
  }
  const acknowledged = new Map<string, number>()
  for (const { key, action, outcome } of calls) {
    if (action === 'delete' && outcome === 'ok')
      acknowledged.set(key, (acknowledged.get(key) ?? 0) + 1)
  }
  const mayHaveDeleted = ({ key, expected }: Call): boolean => {
    const ended = [...(deleted.get(key)?.values() ?? [])]
    if (ended.length <= (acknowledged.get(key) ?? 0)) return false
    return expected === undefined || ended.includes(expected)
  }
  return calls.flatMap((call): Call[] => {
    if (call.outcome !== 'unknown') return [call]
    if (call.action === 'delete') return mayHaveDeleted(call) ? [call] : []
    if (call.value === undefined || !seen.has(call.value)) return []
    return [{ ...call, outcome: 'ok', end: found.get(call.value) ?? call.end }]
  })
}
