/** Storage drivers with a bug: each is one that a checker of histories must catch through the API. */
import { setTimeout as pause } from 'node:timers/promises'
import {
  type EventBatch,
  type Operation,
  type StorageDriver,
  StorageError,
  type WatchOptions,
} from '#storage/driver.js'

/** The part of a driver that has the bug. */
type Plant = (driver: StorageDriver) => Partial<StorageDriver>

/** `driver` as one that several servers use, with some of it replaced. */
export const driverWith = (driver: StorageDriver, part: Partial<StorageDriver>): StorageDriver => ({
  name: driver.name,
  shared: true,
  headRevision: () => driver.headRevision(),
  get: (key) => driver.get(key),
  range: (options) => driver.range(options),
  txn: (compares, operations) => driver.txn(compares, operations),
  watch: (options) => driver.watch(options),
  compact: (revision) => driver.compact(revision),
  compactedRevision: () => driver.compactedRevision(),
  health: (question) => driver.health(question),
  close: async () => {},
  ...part,
})

/** True for every n-th call. */
const every = (n: number) => {
  let count = 0
  return () => ++count % n === 0
}

/** Objects of the load: what a server needs for itself is left alone. */
const isOfLoad = ({ key }: { key: string }): boolean => /\/configmaps\/[^/]+\/k\d$/.test(key)

const ofLoad = (operations: readonly Operation[]): boolean => operations.some(isOfLoad)

/** A watch whose batches become others on their way. */
const watching =
  (change: (batch: EventBatch, isOfLoad: boolean) => AsyncIterable<EventBatch>): Plant =>
  (driver) => ({
    watch: async function* (options: WatchOptions) {
      for await (const batch of driver.watch(options))
        yield* change(batch, batch.events.some(isOfLoad))
    },
  })

/** A batch of the load comes when the next one is there, or much later: who does not wait for the head sees the last but one. */
async function* oneBehind(batches: AsyncIterable<EventBatch>): AsyncGenerator<EventBatch> {
  const iterator = batches[Symbol.asyncIterator]()
  const late = Symbol('late')
  let next = iterator.next()
  let held: EventBatch | undefined
  for (;;) {
    const arrived = await (held ? Promise.race([next, pause(500, late)]) : next)
    if (held) yield held
    held = undefined
    if (arrived === late) continue
    const { done, value } = arrived as IteratorResult<EventBatch>
    if (done) return
    if (value.events.some(isOfLoad)) held = value
    else yield value
    next = iterator.next()
  }
}

export const plantedDriverBugs: Readonly<Record<string, Plant>> = {
  'a transaction is acknowledged and not written': (driver) => {
    const due = every(9)
    return {
      txn: async (compares, operations) => {
        if (!ofLoad(operations) || !due()) return driver.txn(compares, operations)
        return { succeeded: true, revision: await driver.headRevision() }
      },
    }
  },
  'a compare is not made': (driver) => {
    const due = every(2)
    return {
      txn: (compares, operations) =>
        driver.txn(ofLoad(operations) && due() ? [] : compares, operations),
    }
  },
  'a transaction that is refused happens': (driver) => {
    const due = every(9)
    return {
      txn: async (compares, operations) => {
        const result = await driver.txn(compares, operations)
        if (result.succeeded && ofLoad(operations) && due())
          throw new StorageError('ReadOnly', 'planted')
        return result
      },
    }
  },
  'a transaction answers with the revision before its own': (driver) => {
    const due = every(9)
    return {
      txn: async (compares, operations) => {
        const result = await driver.txn(compares, operations)
        const wrong = result.succeeded && ofLoad(operations) && due()
        return wrong ? { ...result, revision: result.revision - 1 } : result
      },
    }
  },
  'a range at a revision shows the head': (driver) => ({
    range: (options) => driver.range({ ...options, revision: undefined }),
  }),
  'the head is what it was before the last write': (driver) => {
    let last = Number.POSITIVE_INFINITY
    let watches = 0
    return {
      txn: async (compares, operations) => {
        const result = await driver.txn(compares, operations)
        if (result.succeeded && ofLoad(operations)) last = result.revision
        return result
      },
      headRevision: async () => Math.min(await driver.headRevision(), last - 1),
      // The first server's: the second one answers a write without waiting for it.
      watch: (options) => {
        const batches = driver.watch(options)
        return watches++ === 0 ? oneBehind(batches) : batches
      },
    }
  },
  'an event is lost': (driver) => {
    const due = every(15)
    return watching(async function* (batch, mine) {
      yield mine && due() ? { ...batch, events: [] } : batch
    })(driver)
  },
  'deletes have no event': watching(async function* (batch) {
    const events = batch.events.filter((event) => event.type === 'put' || !isOfLoad(event))
    yield { ...batch, events }
  }),
  'an event comes twice': (driver) => {
    const due = every(15)
    return watching(async function* (batch, mine) {
      yield batch
      if (mine && due()) yield batch
    })(driver)
  },
  'two revisions change places': (driver) => {
    const due = every(15)
    let held: EventBatch | undefined
    return watching(async function* (batch, mine) {
      if (held === undefined && mine && due()) {
        held = batch
        return
      }
      yield batch
      if (held !== undefined) yield held
      held = undefined
    })(driver)
  },
  'progress overtakes its events': (driver) => {
    const due = every(3)
    return watching(async function* (batch, mine) {
      if (mine && due()) {
        yield { revision: batch.revision, events: [] }
        await pause(15)
      }
      yield batch
    })(driver)
  },
}
