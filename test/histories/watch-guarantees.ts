/**
 * What a watch promises, checked on recorded streams: in order, each event once, all of them, the same for everyone,
 * resumable at any resourceVersion, and no bookmark ahead of its events.
 */
import type { Call } from './linearizability.js'

export type WatchRecord =
  | { readonly kind: 'open'; readonly after: number }
  | {
      readonly kind: 'event'
      readonly type: string
      readonly key: string
      readonly revision: number
      readonly value: string
    }
  | { readonly kind: 'bookmark'; readonly revision: number }
  /** 410: what follows starts anew. */
  | { readonly kind: 'gone' }

export interface WatchStream {
  readonly name: string
  /** The view of the watch: a label selector, or everything. */
  readonly selects: (value: string) => boolean
  readonly isWhole: boolean
  readonly records: WatchRecord[]
}

/** A list with what it showed: keys and values at one resourceVersion. */
export interface Snapshot {
  readonly revision: number
  readonly items: ReadonlyMap<string, { readonly value: string; readonly revision: number }>
  readonly start: number
  readonly end: number
  /** It asked for what is newest, and not for a revision of the past. */
  readonly isConsistent: boolean
}

interface Change {
  readonly revision: number
  readonly key: string
  /** Undefined for a delete. */
  readonly value: string | undefined
  readonly before: string | undefined
}

type Event = Extract<WatchRecord, { kind: 'event' }>

/** Every promise that is broken, a line each. `start`: the state that the watches started from. */
export const brokenGuarantees = (
  streams: readonly WatchStream[],
  calls: readonly Call[],
  snapshots: readonly Snapshot[],
): string[] => {
  const problems = streams.flatMap((stream) => outOfOrder(stream))
  const changes = replay(streams, problems)
  for (const stream of streams) problems.push(...different(stream, changes))
  problems.push(...unseen(calls, changes), ...goingBack(calls, snapshots))
  for (const snapshot of snapshots) problems.push(...torn(snapshot, changes))
  return problems
}

const outOfOrder = ({ name, records }: WatchStream): string[] => {
  const problems: string[] = []
  let seen = 0
  for (const record of records) {
    if (record.kind === 'gone') seen = 0
    else if (record.kind === 'open') {
      if (record.after < seen) seen = record.after
    } else if (record.kind === 'bookmark') {
      if (record.revision < seen)
        problems.push(`${name}: bookmark ${record.revision} after ${seen}`)
      seen = Math.max(seen, record.revision)
    } else {
      if (record.revision <= seen) {
        problems.push(`${name}: ${record.type} ${record.revision} after ${seen}`)
      }
      seen = Math.max(seen, record.revision)
    }
  }
  return problems
}

/** One history out of all streams that saw everything. */
const replay = (streams: readonly WatchStream[], problems: string[]): Change[] => {
  const events = new Map<number, Event>()
  for (const { name, isWhole, records } of streams) {
    for (const record of isWhole ? records : []) {
      if (record.kind !== 'event') continue
      const other = events.get(record.revision)
      if (other === undefined) events.set(record.revision, record)
      else if (shownAs(other) !== shownAs(record))
        problems.push(`${name}: ${shownAs(record)} where another saw ${shownAs(other)}`)
    }
  }
  const state = new Map<string, string>()
  return [...events.values()]
    .sort((a, b) => a.revision - b.revision)
    .map((event) => {
      const { type, key, revision, value } = event
      const before = state.get(key)
      const wanted = before === undefined ? 'ADDED' : type === 'DELETED' ? 'DELETED' : 'MODIFIED'
      if (type !== wanted) problems.push(`${shownAs(event)} where ${wanted} had to come`)
      if (type === 'DELETED') {
        if (before !== value) problems.push(`${shownAs(event)} ends ${before}`)
        state.delete(key)
        return { revision, key, value: undefined, before }
      }
      state.set(key, value)
      return { revision, key, value, before }
    })
}

const shownAs = ({ type, key, revision, value }: Omit<Event, 'kind'>): string =>
  `${revision} ${type} ${key} ${value}`

const asSeen = (
  { revision, key, value, before }: Change,
  selects: WatchStream['selects'],
): string | undefined => {
  const is = value !== undefined && selects(value)
  const was = before !== undefined && selects(before)
  if (is) return shownAs({ type: was ? 'MODIFIED' : 'ADDED', key, revision, value })
  return was ? shownAs({ type: 'DELETED', key, revision, value: before }) : undefined
}

/** Each stretch of a stream against the history between its first and its last resourceVersion. */
const different = (
  { name, selects, records }: WatchStream,
  changes: readonly Change[],
): string[] => {
  const problems: string[] = []
  let after: number | undefined
  let reached = 0
  let seen: string[] = []
  const end = () => {
    if (after === undefined) return
    const wanted = changes
      .filter(({ revision }) => revision > after! && revision <= reached)
      .map((change) => asSeen(change, selects))
      .filter((line) => line !== undefined)
    const at = wanted.findIndex((line, i) => line !== seen[i])
    if (at >= 0) problems.push(`${name}: ${seen[at]} instead of ${wanted[at]}`)
    else if (seen.length > wanted.length) problems.push(`${name}: ${seen[wanted.length]} too much`)
    after = undefined
  }
  for (const record of records) {
    if (record.kind === 'gone') end()
    else if (record.kind === 'open') {
      if (after !== undefined) continue
      after = record.after
      reached = record.after
      seen = []
    } else {
      reached = Math.max(reached, record.revision)
      if (record.kind === 'event') seen.push(shownAs(record))
    }
  }
  end()
  return problems
}

/** Answers that name a resourceVersion, against what the watches saw at it. */
const unseen = (calls: readonly Call[], changes: readonly Change[]): string[] => {
  const known = new Map(changes.map((change) => [change.revision, change]))
  const last = changes[changes.length - 1]?.revision ?? 0
  const problems: string[] = []
  for (const { key, action, outcome, value, found, revision } of calls) {
    if (outcome !== 'ok' || revision === undefined || revision > last) continue
    const change = known.get(revision)
    const wanted = action === 'read' ? found : value
    if (change?.key !== key || change.value !== wanted)
      problems.push(`${action} ${key} ${wanted} at ${revision}: no watch saw it`)
  }
  const refused = new Set(calls.filter((c) => c.outcome === 'refused').map((c) => c.value))
  for (const { value, revision } of changes) {
    if (value !== undefined && refused.has(value))
      problems.push(`${value} was refused and came at ${revision}`)
  }
  return problems
}

/** What began after an answer must not show less than that answer. */
const goingBack = (calls: readonly Call[], snapshots: readonly Snapshot[]): string[] => {
  const problems: string[] = []
  const answers = [
    ...calls.flatMap(({ action, outcome, revision, start, end }) =>
      outcome === 'ok' && action !== 'read' && revision !== undefined
        ? [{ revision, start, end, isWrite: true }]
        : [],
    ),
    ...snapshots
      .filter(({ isConsistent }) => isConsistent)
      .map(({ revision, start, end }) => ({ revision, start, end, isWrite: false })),
  ]
  const byEnd = [...answers].sort((a, b) => a.end - b.end)
  let ended = 0
  let newest = 0
  for (const { revision, start, isWrite } of answers.sort((a, b) => a.start - b.start)) {
    while (byEnd[ended] !== undefined && byEnd[ended]!.end < start) {
      newest = Math.max(newest, byEnd[ended++]!.revision)
    }
    if (isWrite ? revision <= newest : revision < newest)
      problems.push(`resourceVersion ${revision} was answered after ${newest}`)
  }
  return problems
}

const torn = (snapshot: Snapshot, changes: readonly Change[]): string[] => {
  const first = changes[0]?.revision ?? 0
  const last = changes[changes.length - 1]?.revision ?? 0
  if (snapshot.revision < first || snapshot.revision > last) return []
  const state = new Map<string, string>()
  for (const { revision, key, value } of changes) {
    if (revision > snapshot.revision) break
    if (value === undefined) state.delete(key)
    else state.set(key, `${value}@${revision}`)
  }
  const shown = new Map([...snapshot.items].map(([k, i]) => [k, `${i.value}@${i.revision}`]))
  const keys = new Set([...state.keys(), ...shown.keys()])
  return [...keys]
    .filter((key) => state.get(key) !== shown.get(key))
    .map((key) => `list at ${snapshot.revision}: ${key} ${shown.get(key)}, was ${state.get(key)}`)
}
