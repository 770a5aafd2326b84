/**
 * Whether a history of one key could have come from one register that does one thing at a time. The search is Wing and
 * Gong's with Lowe's memory of visited states; keys are checked one by one, because each is linearizable by itself.
 */

export interface Call {
  readonly key: string
  readonly action: 'read' | 'create' | 'replace' | 'delete'
  /** What create and replace write; no value is written twice. */
  readonly value?: string
  /** The value that the write expects to find (a resourceVersion that was sent along); undefined: any. */
  readonly expected?: string
  readonly start: number
  /** Infinity when no answer came. */
  readonly end: number
  /** `unknown`: it may have happened, or may happen later. `refused`: it must not have happened. */
  readonly outcome: 'ok' | 'absent' | 'conflict' | 'unknown' | 'refused'
  /** What a read found. */
  readonly found?: string
  /** resourceVersion of the answer. */
  readonly revision?: number
}

type State = string | undefined

const applies = ({ action, expected }: Call, state: State): boolean => {
  if (action === 'create') return state === undefined
  return state !== undefined && (expected === undefined || expected === state)
}

const written = ({ action, value }: Call): State => (action === 'delete' ? undefined : value)

/** The state after `call` in `state`; `false` when it cannot have answered that. */
const step = (call: Call, state: State): State | false => {
  const { action, outcome, found } = call
  if (outcome === 'unknown') return applies(call, state) ? written(call) : state
  if (outcome === 'absent') return state === undefined && state
  if (action === 'read') return found === state && state
  if (outcome === 'ok') return applies(call, state) && written(call)
  return !applies(call, state) && state
}

/** Steps of a search before it gives up: a right history takes some thousands. */
const stepsMax = 2_000_000

interface Entry {
  readonly call: Call
  readonly index: number
  readonly isReturn: boolean
  readonly at: number
}

/** Undefined when some order explains every answer, else a line that says which answer none explains. */
export const findNonLinearizable = (history: readonly Call[]): string | undefined => {
  const byKey = new Map<string, Call[]>()
  for (const call of history) {
    if (call.outcome === 'refused' || (call.action === 'read' && call.outcome === 'unknown'))
      continue
    const calls = byKey.get(call.key)
    if (calls === undefined) byKey.set(call.key, [call])
    else calls.push(call)
  }
  for (const [key, calls] of byKey) {
    const wrong = new Search(calls).run()
    if (wrong === 'undecided') return `${key}: no order found in ${stepsMax} steps`
    if (wrong !== undefined) return `${key}: no order explains ${JSON.stringify(wrong)}`
  }
  return undefined
}

class Search {
  readonly #entries: Entry[]
  readonly #next: number[]
  readonly #previous: number[]
  readonly #returnAt = new Map<number, number>()
  readonly #done: boolean[]
  readonly #visited = new Set<string>()
  /** Calls before this one are all placed, apart from those without an answer. */
  #deepest: Call | undefined
  #deepestLength = -1

  constructor(calls: readonly Call[]) {
    const sorted = [...calls].sort((a, b) => a.start - b.start)
    this.#entries = sorted
      .flatMap((call, index): Entry[] => {
        const begin = { call, index, isReturn: false, at: call.start }
        if (call.outcome === 'unknown') return [begin]
        return [begin, { call, index, isReturn: true, at: call.end }]
      })
      // What meets in time is taken as concurrent.
      .sort((a, b) => a.at - b.at || Number(a.isReturn) - Number(b.isReturn))
    for (const [at, { isReturn, index }] of this.#entries.entries()) {
      if (isReturn) this.#returnAt.set(index, at)
    }
    this.#done = sorted.map(() => false)
    // A list with a head at 0: entry i is node i + 1, and the end is node length + 1.
    this.#next = Array.from({ length: this.#entries.length + 2 }, (_, i) => i + 1)
    this.#previous = this.#next.map((_, i) => i - 1)
  }

  run(): Call | 'undecided' | undefined {
    const end = this.#entries.length + 1
    const placed: { node: number; state: State }[] = []
    let state: State
    let node = this.#next[0]!
    for (let steps = 0; node !== end; steps++) {
      if (steps > stepsMax) return 'undecided'
      const { call, index, isReturn } = this.#entries[node - 1]!
      if (!isReturn) {
        const after = step(call, state)
        if (after !== false && this.#isNew(index, after)) {
          placed.push({ node, state })
          this.#lift(node, index)
          state = after
          node = this.#next[0]!
        } else node = this.#next[node]!
        continue
      }
      if (placed.length > this.#deepestLength) {
        this.#deepestLength = placed.length
        this.#deepest = call
      }
      const last = placed.pop()
      if (last === undefined) return this.#deepest
      this.#unlift(last.node, this.#entries[last.node - 1]!.index)
      state = last.state
      node = this.#next[last.node]!
    }
    return undefined
  }

  /** Whether the search was never where it is once this call is placed. */
  #isNew(index: number, state: State): boolean {
    this.#done[index] = true
    const first = this.#done.indexOf(false)
    let mark = `${state}|${first}|`
    if (first >= 0) {
      for (let i = this.#done.indexOf(true, first); i >= 0; i = this.#done.indexOf(true, i + 1))
        mark += `${i},`
    }
    this.#done[index] = false
    if (this.#visited.has(mark)) return false
    this.#visited.add(mark)
    return true
  }

  #nodesOf(node: number, index: number): number[] {
    const at = this.#returnAt.get(index)
    return at === undefined ? [node] : [node, at + 1]
  }

  #lift(node: number, index: number): void {
    this.#done[index] = true
    for (const lifted of this.#nodesOf(node, index)) {
      this.#next[this.#previous[lifted]!] = this.#next[lifted]!
      this.#previous[this.#next[lifted]!] = this.#previous[lifted]!
    }
  }

  #unlift(node: number, index: number): void {
    this.#done[index] = false
    for (const lifted of this.#nodesOf(node, index).reverse()) {
      this.#next[this.#previous[lifted]!] = lifted
      this.#previous[this.#next[lifted]!] = lifted
    }
  }
}
