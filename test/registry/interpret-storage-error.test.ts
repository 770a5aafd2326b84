/** What clients are told of failures of the store. */
import t from 'tap'
import { interpretStorageError } from '#registry/interpret-storage-error.js'
import { StorageError } from '#storage/driver.js'

t.test(
  'events are watched without a cache, and a version that is too old is told so',
  async (t) => {
    const gone = new StorageError('Compacted', 'compacted', { revision: 7 })
    const told = (resource: string, operation: string) =>
      interpretStorageError(gone, { resource: { group: '', resource }, operation, asked: 3 })
        .message
    t.equal(told('pods', 'watch'), 'too old resource version: 3 (7)')
    t.equal(told('events', 'watch'), 'The resourceVersion for the provided watch is too old.')
    t.equal(told('events', 'list'), 'The resourceVersion for the provided list is too old.')
  },
)
