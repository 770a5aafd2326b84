/** What clients are told of failures of the store. */
import t from 'tap'
import { type ApiError, notFound } from '#api/errors.js'
import { interpretStorageError, isTooLarge } from '#registry/interpret-storage-error.js'
import { StorageError } from '#storage/driver.js'

t.test(
  'who asks for a version that is gone, or not there yet, is told as by upstream',
  async (t) => {
    const toldOf =
      (code: 'Compacted' | 'FutureRevision', asked?: number) =>
      (group: string, resource: string, operation: string, isCached?: boolean) => {
        const error = new StorageError(code, 'no', { revision: 7 })
        const failed = { resource: { group, resource }, operation }
        const told = interpretStorageError(error, {
          ...failed,
          ...(asked === undefined ? {} : { asked }),
          ...(isCached === undefined ? {} : { isCached }),
        }) as ApiError
        return [told.message, told.status.details?.retryAfterSeconds ?? 0]
      }
    const gone = toldOf('Compacted', 3)
    const cached = ['too old resource version: 3 (7)', 0]
    const list = ['The resourceVersion for the provided list is too old.', 0]
    const watch = ['The resourceVersion for the provided watch is too old.', 0]
    t.same(gone('', 'pods', 'watch'), cached)
    t.same(gone('', 'pods', 'list'), list)
    // Events have no cache; those of a definition's group do.
    for (const group of ['', 'events.k8s.io']) {
      t.same(gone(group, 'events', 'watch'), watch)
      t.same(gone(group, 'events', 'list'), list)
    }
    t.same(gone('example.com', 'events', 'watch'), cached)

    const early = toldOf('FutureRevision', 9)
    const [again, not] = [1, 0].map((seconds) => [
      'Timeout: Too large resource version: 9, current: 7',
      seconds,
    ])
    t.same(early('', 'pods', 'list'), again)
    t.same(early('', 'pods', 'get', false), not)
    t.same(early('', 'pods', 'watch', false), again)
    t.same(early('', 'events', 'list'), not)
    t.same(early('', 'events', 'watch'), again)
  },
)

t.test('what is no failure of the store stays what it is', async (t) => {
  const failed = { resource: { group: '', resource: 'pods' }, operation: 'update' }
  for (const error of [notFound(failed.resource, 'a'), new Error('other')])
    t.equal(interpretStorageError(error, failed), error)
  const tooLarge = new StorageError('TooLarge', 'etcdserver: request is too large')
  t.ok(isTooLarge(interpretStorageError(tooLarge, failed)))
  for (const error of [
    tooLarge,
    new Error('other'),
    interpretStorageError(new StorageError('NoSpace', 'full'), failed),
  ])
    t.notOk(isTooLarge(error), error.message)
})
