/** How a damaged store is read. */
import { cpSync } from 'node:fs'
import path from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { Level } from 'level'
import t from 'tap'
import { systemClock } from '#api/clock.js'
import { encodeHead, encodeRecord, headKey, recordKey } from '#storage/level/record.js'
import { type Database, replay } from '#storage/level/replay.js'
import { openStorage } from '#storage/open.js'
import { temporaryDirectory } from './level-fixture.js'
import { put, write } from './suite.js'

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

t.test('whatever is gone is told of, also where later writes would hide it', async (t) => {
  const directory = temporaryDirectory(t)
  const driver = await openStorage(`level:${directory}`, { clock: systemClock })
  await write(driver, put('/old', '1'))
  await driver.compact(await write(driver, put('/a', '1')))
  await write(driver, put('/a', '2'))
  await write(driver, put('/a', '3'), put('/b', '3'))
  await write(driver, put('/a', '4'))
  await write(driver, put('/b', '5'))
  await driver.close()
  const [old, first, second, third] = [
    [recordKey(2, '/old'), recordKey(3, '/a')],
    [recordKey(4, '/a')],
    [recordKey(5, '/a'), recordKey(5, '/b')],
    [recordKey(6, '/a'), recordKey(7, '/b')],
  ] as const
  const before = {
    ...{ revision: 1, key: '/old', events: 1, expiry: 0, head: undefined },
    kv: { key: '/old', value: Buffer.from('0'), modRevision: 1, createRevision: 1 },
  }
  const levelKey = recordKey(1, '/old')
  const instead = { type: 'put', key: levelKey, value: encodeRecord(levelKey, before) } as const
  const cases: [gone: string[], told: string, ...found: (typeof instead)[]][] = [
    [[...first], 'revision 4 is missing'],
    [[...first, ...second], 'revisions 4 to 5 are missing'],
    [[second[0]], 'revision 5 is not whole'],
    [[third[1]], 'revision 7 was acknowledged, the newest found is 6'],
    [[old[0]], '3 keys were stored, 2 are left or they differ'],
    [[old[0]], '3 keys were stored, 3 are left or they differ', instead],
    [[headKey, ...old, ...first, ...second, ...third], 'the head record is missing'],
  ]
  for (const [index, [gone, told, ...found]] of cases.entries()) {
    const copy = path.join(temporaryDirectory(t), String(index))
    cpSync(directory, copy, { recursive: true })
    const db = new Level(copy)
    await db.batch(gone.map((key) => ({ type: 'del', key })))
    await db.batch<string, Buffer>(found, { valueEncoding: 'buffer' })
    await db.close()
    const message = `the store in ${copy} is damaged: ${told}`
    await t.rejects(openStorage(`level:${copy}`, { clock: systemClock }), {
      code: 'Corrupt',
      message,
    })
  }
})
