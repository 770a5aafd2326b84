import fc from 'fast-check'
import t from 'tap'
import { type Call, findNonLinearizable } from './linearizability.js'
import { problemsOf } from './verdict.js'
import type { WatchRecord } from './watch-guarantees.js'

const call = (partial: Partial<Call>): Call => ({
  key: 'k',
  action: 'read',
  start: 0,
  end: 1,
  outcome: 'ok',
  ...partial,
})

t.test('histories that the checker tells apart', async (t) => {
  const created = call({ action: 'create', value: '1', start: 0, end: 1 })
  const legal: [string, Call[]][] = [
    ['read after write', [created, call({ found: '1', start: 2, end: 3 })]],
    [
      'an unknown write that comes late',
      [
        created,
        call({ action: 'replace', value: '2', start: 2, end: Infinity, outcome: 'unknown' }),
        call({ found: '1', start: 3, end: 4 }),
        call({ found: '2', start: 5, end: 6 }),
      ],
    ],
    [
      'reads beside a write, the old value first',
      [
        created,
        call({ action: 'replace', value: '2', start: 2, end: 9 }),
        call({ found: '1', start: 3, end: 4 }),
        call({ found: '2', start: 5, end: 6 }),
      ],
    ],
  ]
  const illegal: [string, Call[]][] = [
    ['an acknowledged write is gone', [created, call({ outcome: 'absent', start: 2, end: 3 })]],
    [
      'a read goes back',
      [
        created,
        call({ action: 'replace', value: '2', start: 2, end: 9 }),
        call({ found: '2', start: 3, end: 4 }),
        call({ found: '1', start: 5, end: 6 }),
      ],
    ],
    [
      'two writers of one version both win',
      [
        created,
        call({ action: 'replace', value: '2', expected: '1', start: 2, end: 9 }),
        call({ action: 'replace', value: '3', expected: '1', start: 2, end: 9 }),
      ],
    ],
    [
      'an unknown write comes and goes',
      [
        created,
        call({ action: 'replace', value: '2', start: 2, end: Infinity, outcome: 'unknown' }),
        call({ found: '2', start: 3, end: 4 }),
        call({ found: '1', start: 5, end: 6 }),
      ],
    ],
    [
      'a refused write is read',
      [
        created,
        call({ action: 'replace', value: '2', start: 2, end: 3, outcome: 'refused' }),
        call({ found: '2', start: 3, end: 4 }),
      ],
    ],
  ]
  for (const [name, history] of legal) t.equal(findNonLinearizable(history), undefined, name)
  for (const [name, history] of illegal) t.ok(findNonLinearizable(history), name)
})

t.test('an outage that cut many writes off is settled by what the watches saw', async (t) => {
  const cut = Array.from({ length: 60 }, (_, i) =>
    call({ action: 'replace', value: `cut-${i}`, start: 2, end: Infinity, outcome: 'unknown' }),
  )
  const deletes = cut.map(({ start, end, outcome }) =>
    call({ action: 'delete', start, end, outcome }),
  )
  const created = call({ action: 'create', value: '1', start: 0, end: 1, revision: 1 })
  const event = (revision: number, type: string, value: string) =>
    ({ kind: 'event', type, key: 'k', revision, value }) as const
  const problems = (events: WatchRecord[], last: Partial<Call>) => {
    const records: WatchRecord[] = [{ kind: 'open', after: 0 }, ...events]
    const streams = [{ name: 'all', selects: () => true, isWhole: true, records }]
    const calls = [created, ...cut, ...deletes, call({ start: 3, end: 4, ...last })]
    return problemsOf({ calls, streams, snapshots: [], oddities: [] })
  }
  const one = event(1, 'ADDED', '1')
  const seven = event(2, 'MODIFIED', 'cut-7')
  t.same(problems([one], { found: '1', revision: 1 }), [])
  t.same(problems([one, seven], { found: 'cut-7', revision: 2 }), [])
  t.same(problems([one, seven, event(3, 'DELETED', 'cut-7')], { outcome: 'absent' }), [])
  t.match(problems([one, seven], { outcome: 'absent' }), [/no order explains/])
  t.match(problems([one], { outcome: 'absent' }), [/no order explains/])
})

/** By trying every order, for a few calls: what the checker is held against. */
const isLinearizable = (calls: readonly Call[], state?: string): boolean =>
  calls.every((c) => c.outcome === 'unknown') ||
  calls.some((c, i) => {
    if (calls.some((other) => other.outcome !== 'unknown' && other.end < c.start)) return false
    const rest = calls.filter((_, j) => j !== i)
    const fits =
      c.action === 'create'
        ? state === undefined
        : state !== undefined && (c.expected === undefined || c.expected === state)
    const after = c.action === 'delete' ? undefined : c.value
    if (c.outcome === 'unknown') return isLinearizable(rest, fits ? after : state)
    if (c.outcome === 'absent') return state === undefined && isLinearizable(rest, state)
    if (c.action === 'read') return c.found === state && isLinearizable(rest, state)
    if (c.outcome === 'ok') return fits && isLinearizable(rest, after)
    return !fits && isLinearizable(rest, state)
  })

const anyCall = fc
  .record({
    action: fc.constantFrom('read', 'read', 'create', 'replace', 'delete'),
    outcome: fc.constantFrom('ok', 'ok', 'ok', 'absent', 'conflict', 'unknown'),
    start: fc.nat(12),
    length: fc.nat(6),
    value: fc.constantFrom('a', 'b'),
    expected: fc.constantFrom(undefined, 'a', 'b'),
  })
  .map(({ action, outcome, start, length, value, expected }): Call => {
    const isRead = action === 'read'
    const sure = isRead && outcome !== 'absent' ? 'ok' : outcome
    return call({
      action,
      outcome: sure,
      start,
      end: sure === 'unknown' ? Infinity : start + length + 0.5,
      ...(isRead
        ? { found: value }
        : { value, expected: action === 'create' ? undefined : expected }),
    })
  })

t.test('the search finds what trying every order finds', async (t) => {
  let legal = 0
  const property = fc.property(fc.array(anyCall, { minLength: 1, maxLength: 6 }), (history) => {
    const wanted = isLinearizable(history)
    if (wanted) legal++
    return (findNonLinearizable(history) === undefined) === wanted
  })
  fc.assert(property, { numRuns: 3_000 })
  t.ok(legal > 100 && legal < 2_900, `${legal} of 3000 were legal`)
})
