/** How a damaged store is read. */
import { setImmediate } from 'node:timers/promises'
import t from 'tap'
import { encodeHead, recordKey } from '#storage/level/record.js'
import { type Database, replay } from '#storage/level/replay.js'

t.test('one that is damaged in two places is refused for the first', async (t) => {
  const read = [Promise.resolve([[recordKey(2, 'a'), Buffer.from('damaged')]])]
  const iterator = {
    nextv: () => read.shift() ?? Promise.reject(new Error('a block is damaged')),
    all: async () => [],
    close: () => setImmediate(),
  }
  const db = {
    get: async () => encodeHead({ revision: 2, compacted: 1, live: 1, digest: 0 }),
    iterator: () => iterator,
  } as unknown as Database
  const unheard: unknown[] = []
  const hear = (error: unknown): void => void unheard.push(error)
  process.on('unhandledRejection', hear)
  t.teardown(() => process.off('unhandledRejection', hear))
  await t.rejects(replay(db, 0), { code: 'Corrupt', message: /a record fails its checksum/ })
  t.same(unheard, [], 'the second ends no process')
})
