/** The smallest correct driver: everything is gone when the process ends. The model for the others. */
import { type StorageDriver, StorageError } from '../driver.js'
import { Mvcc } from '../mvcc.js'

/** etcd's revision before the first write. */
const firstRevision = 1

export const openMemory = (): StorageDriver => {
  const state = new Mvcc(firstRevision, firstRevision)
  let closed: StorageError | undefined
  const check = () => {
    if (closed !== undefined) throw closed
  }
  return {
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
      state.publish(plan.events, plan.revision)
      return { revision: plan.revision, ...plan.outcomes[0]! }
    },
    watch: (options) => state.watch(options),
    compact: async (revision) => {
      check()
      state.compact(revision)
    },
    compactedRevision: () => state.compacted,
    health: () => closed?.message,
    close: async () => {
      closed ??= new StorageError('Closed', 'the memory store is closed')
      state.close(closed)
    },
  }
}
