/** Holds a store that was crashed and opened again against all that its clients were told and saw. */
import type { KeyValue, StorageDriver, StorageError, StorageEvent } from '#storage/driver.js'
import { historyUpTo } from '../suite.js'
import { type CrashRecord, markerPrefix, type Step } from './crash-record.js'

interface Transaction {
  readonly steps: readonly Step[]
  revision?: number
  isRefused?: boolean
  /** At which revision the history shows it. */
  found?: number
}

type State = ReadonlyMap<string, KeyValue>

const shown = (kv: KeyValue | undefined): string =>
  kv === undefined ? '-' : `${kv.key}=${kv.value}@${kv.modRevision}/${kv.createRevision}`
const shownAll = (state: Iterable<KeyValue>): string => [...state].map(shown).sort().join(' ')
const shownEvent = ({ revision, key, value }: Pick<StorageEvent, 'revision' | 'key' | 'value'>) =>
  `${revision} ${key} ${value?.value ?? '-'}`

export class CrashJudge {
  readonly #transactions = new Map<string, Transaction>()
  /** Every change that was ever found, in order; what was found once stays. */
  readonly #timeline: StorageEvent[] = []
  #start: number | undefined
  /** The newest revision that anybody was told of. */
  #told = 0
  #compacted = 0
  #problems: string[] = []

  /** Everything wrong with `driver`, which shows the store after a crash; `records` are those since the last time. */
  async judge(driver: StorageDriver, records: readonly CrashRecord[]): Promise<string[]> {
    this.#problems = []
    for (const record of records) this.#take(record)
    const head = await driver.headRevision()
    const compacted = driver.compactedRevision()
    this.#start ??= compacted
    this.#expect(head >= this.#told, `the head is ${head}, ${this.#told} was told`)
    this.#expect(compacted >= this.#compacted, `compacted at ${compacted}, not ${this.#compacted}`)
    const history = await historyUpTo(driver, { prefix: '/', after: compacted, end: head })
    this.#compareHistory(history, compacted, head)
    const states = this.#replay()
    this.#compareTransactions()
    this.#compareSeen(records)
    await this.#compareStates(driver, states, compacted, head)
    await this.#write(driver, head)
    return this.#problems
  }

  /** After a time in which every lifetime ends. */
  async judgeLifetimes(driver: StorageDriver): Promise<string[]> {
    const head = await driver.headRevision()
    const ends = new Map<string, boolean>()
    for (const { key, value } of this.#timeline)
      ends.set(key, value !== undefined && this.#hasLifetime(key, String(value.value)))
    const { kvs } = await driver.range({ prefix: '/', revision: head })
    return kvs.filter(({ key }) => ends.get(key)).map((kv) => `${shown(kv)} did not end`)
  }

  #expect(holds: boolean, problem: string): void {
    if (!holds) this.#problems.push(problem)
  }

  #take(record: CrashRecord): void {
    if (record.kind === 'sent') this.#transactions.set(record.id, { steps: record.steps })
    if (record.kind === 'refused') this.#transactions.get(record.id)!.isRefused = true
    if (record.kind === 'done') this.#transactions.get(record.id)!.revision = record.revision
    if (record.kind === 'compacted') this.#compacted = Math.max(this.#compacted, record.revision)
    if (record.kind === 'done' || record.kind === 'seen')
      this.#told = Math.max(this.#told, record.revision)
  }

  /** What is left of the history goes on where the last look ended, and has not changed since. */
  #compareHistory(history: readonly StorageEvent[], compacted: number, head: number): void {
    const before = this.#timeline.filter(({ revision }) => revision > compacted)
    for (const [i, event] of before.entries()) {
      const now = history[i]
      const isSame = now !== undefined && shownEvent(now) === shownEvent(event)
      if (isSame) continue
      this.#problems.push(`history had ${shownEvent(event)}, has ${now && shownEvent(now)}`)
      break
    }
    this.#timeline.push(...history.slice(before.length))
    const revisions = this.#timeline.map(({ revision }) => revision)
    this.#expect(
      revisions.every((revision, i) => revision >= (revisions[i - 1] ?? 0) && revision <= head),
      'history goes back, or beyond the head',
    )
  }

  /** Every change against the state before it. Yields the state at each revision. */
  #replay(): Map<number, State> {
    const states = new Map<number, State>()
    const state = new Map<string, KeyValue>()
    for (const { revision, key, value, previous } of this.#timeline) {
      const before = state.get(key)
      this.#expect(
        shown(previous) === shown(before),
        `${revision} ${key}: before it was ${shown(before)}, shown ${shown(previous)}`,
      )
      if (value === undefined) state.delete(key)
      else {
        const created = before?.createRevision ?? revision
        const isRight = value.modRevision === revision && value.createRevision === created
        this.#expect(isRight, `${shown(value)} was written at ${revision}, created at ${created}`)
        state.set(key, value)
      }
      states.set(revision, new Map(state))
    }
    return states
  }

  #compareTransactions(): void {
    const byRevision = new Map<number, StorageEvent[]>()
    for (const event of this.#timeline) {
      const events = byRevision.get(event.revision)
      if (events === undefined) byRevision.set(event.revision, [event])
      else events.push(event)
    }
    for (const transaction of this.#transactions.values()) delete transaction.found
    for (const [revision, events] of byRevision) this.#compareRevision(revision, events)
    for (const [id, { revision, found }] of this.#transactions)
      this.#expect(
        revision === undefined || found === revision,
        `${id} was done at ${revision}, found at ${found}`,
      )
  }

  #compareRevision(revision: number, events: readonly StorageEvent[]): void {
    const marker = events.find(({ key }) => key.startsWith(markerPrefix))
    if (marker?.value === undefined) {
      const isEnd =
        events.length === 1 && events[0]!.value === undefined && this.#mayEnd(events[0]!)
      this.#expect(isEnd, `${revision}: ${events.map(shownEvent)} is nobody's`)
      return
    }
    const id = String(marker.value.value)
    const transaction = this.#transactions.get(id)
    if (transaction === undefined) {
      this.#expect(id === 'judge', `${revision}: nobody wrote ${id}`)
      return
    }
    this.#expect(transaction.isRefused !== true, `${id} was refused and is at ${revision}`)
    this.#expect(
      transaction.found === undefined,
      `${id} is at ${transaction.found} and ${revision}`,
    )
    transaction.found = revision
    const puts = transaction.steps.filter(({ type }) => type === 'put')
    for (const { key } of puts) {
      const value = events.find((event) => event.key === key)?.value
      this.#expect(String(value?.value) === id, `${id} put ${key}, which is not at ${revision}`)
    }
    for (const event of events) {
      const step = transaction.steps.find(({ key }) => key === event.key)
      const isAsked = step?.type === event.type
      this.#expect(isAsked, `${id} has not asked for ${shownEvent(event)}`)
    }
  }

  #mayEnd({ key, previous }: StorageEvent): boolean {
    return previous !== undefined && this.#hasLifetime(key, String(previous.value))
  }

  #hasLifetime(key: string, id: string): boolean {
    const step = this.#transactions.get(id)?.steps.find((step) => step.key === key)
    return (step?.ttlSeconds ?? 0) > 0
  }

  /** A watch shows everything from its beginning to its last change. */
  #compareSeen(records: readonly CrashRecord[]): void {
    const after = records.find((record) => record.kind === 'watching')?.after ?? 0
    const seen = records.flatMap((record) =>
      record.kind === 'seen' ? [`${record.revision} ${record.key} ${record.value ?? '-'}`] : [],
    )
    const wanted = this.#timeline.filter(({ revision }) => revision > after).map(shownEvent)
    const at = seen.findIndex((line, i) => line !== wanted[i])
    this.#expect(at < 0, `a watch saw ${seen[at]}, there is ${wanted[at]}`)
  }

  async #compareStates(
    driver: StorageDriver,
    states: ReadonlyMap<number, State>,
    compacted: number,
    head: number,
  ): Promise<void> {
    const start = this.#start ?? 0
    let state: State = new Map()
    for (let revision = start; revision <= head; revision++) {
      state = states.get(revision) ?? state
      const range = driver.range({ prefix: '/', revision })
      if (revision < compacted) {
        const code = await range.then(
          () => 'an answer',
          (error) => (error as StorageError).code,
        )
        this.#expect(code === 'Compacted', `at ${revision}, compacted at ${compacted}: ${code}`)
        continue
      }
      const found = shownAll((await range).kvs)
      const wanted = shownAll(state.values())
      this.#expect(found === wanted, `at ${revision} there is ${found}, and was ${wanted}`)
    }
  }

  /** It can be written again, at a revision that nobody was ever told. */
  async #write(driver: StorageDriver, head: number): Promise<void> {
    const value = Buffer.from('judge')
    const { revision } = await driver.txn(
      [],
      [{ type: 'put', key: `${markerPrefix}-judge`, value }],
    )
    this.#expect(revision > Math.max(head, this.#told), `${revision} is given again`)
    this.#told = Math.max(this.#told, revision)
  }
}
