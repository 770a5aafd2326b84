/** The smallest correct driver: everything is gone when the process ends. The model for the others. */
import type { Clock } from '#api/clock.js'
import { type StorageDriver, StorageError } from '../driver.js'
import { firstRevision, Mvcc } from '../mvcc.js'
import { Upkeep } from '../upkeep.js'

export const openMemory = ({ clock }: { clock: Clock }): StorageDriver => {
  const state = new Mvcc(firstRevision, firstRevision)
  let closed: StorageError | undefined
  const check = () => {
    if (closed !== undefined) throw closed
  }
  const driver: StorageDriver = {
    name: 'memory',
    shared: false,
    headRevision: async () => {
      check()
      return state.head
    },
    get: async (key) => {
      check()
      return { kv: state.get(key), revision: state.head }
    },
    range: async (options) => {
      check()
      return state.range(options)
    },
    txn: async (compares, operations) => {
      check()
      const plan = state.plan([{ compares, operations }])
      for (const event of plan.events) upkeep.note(event.key, upkeep.expiryOf(event))
      state.publish(plan.events, plan.revision)
      return { revision: plan.revision, ...plan.outcomes[0]! }
    },
    watch: (options) => state.watch(options),
    compact: async (revision) => {
      check()
      state.compact(revision)
    },
    compactedRevision: () => state.compacted,
    health: async () => closed?.message,
    close: async () => {
      closed ??= new StorageError('Closed', 'the memory store is closed')
      state.close(closed)
      await upkeep.stop()
    },
  }
  const upkeep = new Upkeep(state, clock, driver)
  return driver
}
