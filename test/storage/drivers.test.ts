import { cpSync } from 'node:fs'
import fc from 'fast-check'
import { Level } from 'level'
import t from 'tap'
import { systemClock } from '#api/clock.js'
import { limits } from '#limits'
import { type Operation, type StorageDriver, StorageError } from '#storage/driver.js'
import { openStorage } from '#storage/open.js'
import { eventually } from '../eventually.js'
import { openLevelIn, temporaryDirectory } from './level-fixture.js'
import { described, put, remove, runDriverSuite, shown, take, write } from './suite.js'

const openMemory = async (t: typeof import('tap').default): Promise<StorageDriver> => {
  const driver = await openStorage('memory:', { clock: systemClock })
  t.teardown(() => driver.close())
  return driver
}

await runDriverSuite(t, { name: 'memory', open: (t) => openMemory(t as never) })
await runDriverSuite(t, {
  name: 'level',
  open: (t) => openLevelIn(t, temporaryDirectory(t)),
})

t.test('a URL of no known scheme is refused with those that are', async (t) => {
  await t.rejects(openStorage('redis:x', { clock: systemClock }), { message: /memory:.*level:/ })
})

// A store's own timer keeps no process alive.
const alive = setInterval(() => {}, 1_000)
t.teardown(() => clearInterval(alive))

t.test('values expire after their time and leave a delete event', async (t) => {
  for (const [scheme, compacts] of [
    ['memory', false],
    ['level', false],
    ['level', true],
  ] as const) {
    let now = 1_000_000
    const url = scheme === 'memory' ? 'memory:' : `level:${temporaryDirectory(t)}`
    const open = () => openStorage(url, { clock: { now: () => now } })
    let driver = await open()
    t.teardown(() => driver.close())
    await write(driver, put('/a', 'short', 10), put('/b', 'renewed', 10), put('/c', 'stays', 10))
    const after = await write(driver, put('/b', 'renewed', 60), put('/c', 'stays'))
    if (compacts) await driver.compact(after)
    if (scheme === 'level') {
      await driver.close()
      driver = await open()
    }
    now += 11_000
    const [event] = await take(driver, { prefix: '/', after }, 1)
    t.equal(described(event!), `${after + 1} delete /a short>-`)
    t.same(
      (await driver.range({ prefix: '/' })).kvs.map((kv) => kv.key),
      ['/b', '/c'],
    )
  }
})

t.test('however often a store is closed, each time waits until it is', async (t) => {
  const directory = temporaryDirectory(t)
  const open = () => openStorage(`level:${directory}`, { clock: systemClock })
  const driver = await open()
  void driver.close()
  await driver.close()
  const again = await open()
  await again.close()
})

t.test('nothing that was compacted is left on disk, whenever the process ended', async (t) => {
  const [directory, copy] = [temporaryDirectory(t), temporaryDirectory(t)]
  const driver = await openLevelIn(t, directory)
  // More than one batch removes.
  const keys = Array.from({ length: limits.removalsInBatchMax }, (_, i) => `/k${i}`)
  for (const value of ['1', '2']) await write(driver, ...keys.map((key) => put(key, value)))
  await write(driver, remove('/k0'), remove('/k1'))
  await driver.compact(await driver.headRevision())
  cpSync(directory, copy, { recursive: true })
  await driver.close()
  const recordsIn = async (folder: string): Promise<number> => {
    const db = new Level(folder, { keyEncoding: 'utf8', valueEncoding: 'buffer' })
    const records = await db.keys({ gte: 'r', lt: 's' }).all()
    await db.close()
    return records.length
  }
  const left = keys.length - 2
  t.equal(await recordsIn(directory), left)
  const again = await openStorage(`level:${copy}`, { clock: systemClock })
  await write(again, put('/last', '1'))
  t.equal((await again.range({ prefix: '/' })).kvs.length, left + 1)
  await again.close()
  t.equal(await recordsIn(copy), left + 1)
})

t.test('history older than the window is compacted by itself', async (t) => {
  let now = 1_000_000
  const driver = await openStorage('memory:', { clock: { now: () => now } })
  t.teardown(() => driver.close())
  await write(driver, put('/a', '1'))
  // The driver notes the head each few seconds; once that note is out of the window it is the new start.
  const second = () => new Promise((resolve) => setTimeout(resolve, 1_100))
  await second()
  const noted = await driver.headRevision()
  await write(driver, put('/a', '2'))
  now += limits.watchHistoryMs + 1
  await eventually('it is compacted', () => driver.compactedRevision() === noted)
})

t.test(
  'history that takes too much memory is compacted down to three quarters of it',
  async (t) => {
    t.intercept(limits as { watchHistoryBytesMax: number }, 'watchHistoryBytesMax', {
      value: 10_000,
    })
    const driver = await openStorage('memory:', { clock: systemClock })
    t.teardown(() => driver.close())
    for (let i = 0; i < 20; i++) await write(driver, put('/a', 'x'.repeat(1_000)))
    const head = await driver.headRevision()
    await eventually('it is compacted', () => driver.compactedRevision() > head - 20)
    // Each of these holds the value before it, its key and some 200 bytes more.
    t.equal(head - driver.compactedRevision(), 6)
  },
)

t.test('a batch of a watch that is full ends between two revisions', async (t) => {
  t.intercept(limits as { watchBatchLengthMax: number }, 'watchBatchLengthMax', { value: 2 })
  const driver = await openStorage('memory:', { clock: systemClock })
  t.teardown(() => driver.close())
  const after = await driver.headRevision()
  await write(driver, put('/a', '1'), put('/b', '1'), put('/c', '1'))
  await write(driver, put('/a', '2'))
  await write(driver, put('/b', '3'), put('/c', '3'))
  const batches: number[][] = []
  const { signal } = new AbortController()
  for await (const { events } of driver.watch({ prefix: '/', after, signal })) {
    batches.push(events.map(({ revision }) => revision - after))
    if (batches.length === 2) break
  }
  t.same(batches, [
    [1, 1, 1],
    [2, 3, 3],
  ])
})

type Step =
  | {
      readonly kind: 'txn'
      readonly expect: (number | undefined)[]
      readonly ops: [number, number][]
    }
  | { readonly kind: 'compact'; readonly back: number }
  | { readonly kind: 'range'; readonly back: number }
  | { readonly kind: 'reopen' }

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({
      kind: fc.constant('txn' as const),
      expect: fc.array(fc.option(fc.nat(4), { nil: undefined }), { maxLength: 2 }),
      ops: fc.uniqueArray(fc.tuple(fc.nat(5), fc.nat(3)), {
        maxLength: 3,
        selector: ([key]) => key,
      }),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ kind: fc.constant('compact' as const), back: fc.nat(8) }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ kind: fc.constant('range' as const), back: fc.nat(8) }),
  },
  { weight: 1, arbitrary: fc.constant({ kind: 'reopen' as const }) },
)

const keys = ['/a', '/a/b', '/a-b', '/b', '/ü', '/z']

/** One step, and all that can be seen of its outcome. */
const play = async (driver: StorageDriver, step: Step): Promise<unknown> => {
  const head = await driver.headRevision()
  try {
    if (step.kind === 'reopen') return shown((await driver.range({ prefix: '' })).kvs)
    if (step.kind === 'compact') return await driver.compact(head - step.back)
    if (step.kind === 'range') {
      return shown((await driver.range({ prefix: '/a', revision: head - step.back })).kvs)
    }
    const compares = await Promise.all(
      step.expect.map(async (wrong, i) => {
        const { kv } = await driver.get(keys[i]!)
        return { key: keys[i]!, modRevision: wrong ?? kv?.modRevision ?? 0 }
      }),
    )
    const operations = step.ops.map(
      ([key, value]): Operation =>
        value === 0 ? remove(keys[key]!) : put(keys[key]!, `value ${value}`),
    )
    const result = await driver.txn(compares, operations)
    return JSON.stringify(result)
  } catch (error) {
    return error instanceof StorageError ? [error.code, error.revision] : String(error)
  }
}

t.test('level opens again when the order of bytes makes another key the last', async (t) => {
  const directory = temporaryDirectory(t)
  const driver = await openStorage(`level:${directory}`, { clock: systemClock })
  // Of these two, the text that is above is below as UTF-8.
  const keys = ['/\u{1f600}', '/\uff5e']
  t.same([...keys].sort(), keys)
  await write(driver, ...keys.map((key) => put(key, '1')))
  await driver.close()
  const again = await openLevelIn(t, directory)
  t.equal((await again.range({ prefix: '/' })).kvs.length, 2)
})

t.test('level does what memory does, whatever is done to it, reopened or not', async (t) => {
  const property = fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
    const directory = temporaryDirectory(t)
    const model = await openStorage('memory:', { clock: systemClock })
    let level = await openStorage(`level:${directory}`, { clock: systemClock })
    try {
      for (const step of steps) {
        if (step.kind === 'reopen') {
          await level.close()
          level = await openStorage(`level:${directory}`, { clock: systemClock })
        }
        const [wanted, found] = [await play(model, step), await play(level, step)]
        if (JSON.stringify(wanted) !== JSON.stringify(found)) {
          throw new Error(`${JSON.stringify(step)}: ${wanted} became ${found}`)
        }
      }
      const after = model.compactedRevision()
      const events = [...(await take(model, { prefix: '', after }, 0))]
      const same = await take(level, { prefix: '', after }, 0)
      return events.map(described).join() === same.map(described).join()
    } finally {
      await model.close()
      await level.close()
    }
  })
  await t.resolves(fc.assert(property, { numRuns: 40 }))
})
