/** What every storage driver must do: the cases of storage/driver.ts and of upstream's apiserver/pkg/storage/testing. */

import { setImmediate as nextTurn, setTimeout as pause } from 'node:timers/promises'
import type { Test } from 'tap'
import {
  type KeyValue,
  type Operation,
  type StorageDriver,
  StorageError,
  type StorageEvent,
} from '#storage/driver.js'

interface DriverFixture {
  readonly name: string
  /** An empty store, closed by `t.teardown`. */
  open(t: Test): Promise<StorageDriver>
}

export const put = (key: string, value: string, ttlSeconds?: number): Operation => ({
  type: 'put',
  key,
  value: Buffer.from(value),
  ttlSeconds,
})
export const remove = (key: string): Operation => ({ type: 'delete', key })

export const write = async (driver: StorageDriver, ...operations: Operation[]): Promise<number> => {
  const result = await driver.txn([], operations)
  if (!result.succeeded) throw new Error('a transaction without compares was refused')
  return result.revision
}

export const shown = (kvs: readonly KeyValue[]): string[] =>
  kvs.map((kv) => `${kv.key}=${kv.value}@${kv.modRevision}/${kv.createRevision}`)

export const described = ({ type, key, revision, value, previous }: StorageEvent): string =>
  `${revision} ${type} ${key} ${previous?.value ?? '-'}>${value?.value ?? '-'}`

/** Events of a watch until `count` have come. */
export const take = async (
  driver: StorageDriver,
  options: { prefix: string; after?: number },
  count: number,
): Promise<StorageEvent[]> => {
  const controller = new AbortController()
  const events: StorageEvent[] = []
  try {
    for await (const batch of driver.watch({ ...options, signal: controller.signal })) {
      events.push(...batch.events)
      if (events.length >= count) break
    }
  } finally {
    controller.abort()
  }
  return events
}

/** Every event after `after` up to and with revision `end`. */
export const historyUpTo = async (
  driver: StorageDriver,
  { prefix, after, end }: { prefix: string; after: number; end: number },
): Promise<StorageEvent[]> => {
  const events: StorageEvent[] = []
  const controller = new AbortController()
  for await (const batch of driver.watch({ prefix, after, signal: controller.signal })) {
    events.push(...batch.events)
    if (batch.revision >= end) break
  }
  controller.abort()
  return events
}

const code = (promise: Promise<unknown>): Promise<string> =>
  promise.then(
    () => 'no error',
    (error) => (error instanceof StorageError ? error.code : String(error)),
  )

export const runDriverSuite = (t: Test, fixture: DriverFixture): Promise<unknown> =>
  t.test(`the ${fixture.name} driver`, async (t) => {
    await transactions(t, fixture)
    await ranges(t, fixture)
    await watches(t, fixture)
    await compactions(t, fixture)
  })

const transactions = async (t: Test, { open }: DriverFixture) => {
  await t.test('a write takes a greater revision, and what it wrote is read back', async (t) => {
    const driver = await open(t)
    const first = await write(driver, put('/a/x', '1'))
    const second = await write(driver, put('/a/x', '2'), put('/a/y', '3'))
    t.ok(second > first && first > 1)
    t.equal(await driver.headRevision(), second)
    t.same(shown((await driver.range({ prefix: '/a/' })).kvs), [
      `/a/x=2@${second}/${first}`,
      `/a/y=3@${second}/${second}`,
    ])
  })

  await t.test(
    'RunTestGuaranteedUpdate: a compare decides, and a refusal shows what is there',
    async (t) => {
      const driver = await open(t)
      const revision = await write(driver, put('/a/x', '1'))
      const stale = await driver.txn([{ key: '/a/x', modRevision: 0 }], [put('/a/x', '2')])
      t.equal(stale.succeeded, false)
      t.same(!stale.succeeded && shown(stale.current as KeyValue[]), [
        `/a/x=1@${revision}/${revision}`,
      ])
      const missing = await driver.txn([{ key: '/a/z', modRevision: 7 }], [put('/a/z', '2')])
      t.same(!missing.succeeded && missing.current, [undefined])
      t.equal(await driver.headRevision(), revision, 'a refusal takes no revision')
      const right = await driver.txn([{ key: '/a/x', modRevision: revision }], [remove('/a/x')])
      t.equal(right.succeeded, true)
      t.equal((await driver.get('/a/x')).kv, undefined)
      const again = await write(driver, put('/a/x', '5'))
      t.equal((await driver.get('/a/x')).kv!.createRevision, again, 'a key that comes back is new')
    },
  )

  await t.test('exactly one of many writers of a key wins each revision', async (t) => {
    const driver = await open(t)
    await write(driver, put('/c', '0'))
    const increment = async () => {
      for (;;) {
        const { kv } = await driver.get('/c')
        const next = put('/c', String(Number(kv!.value) + 1))
        const compare = { key: '/c', modRevision: kv!.modRevision }
        if ((await driver.txn([compare], [next])).succeeded) return
      }
    }
    await Promise.all(Array.from({ length: 30 }, increment))
    t.equal(String((await driver.get('/c')).kv!.value), '30')
  })

  await t.test('RunTestDelete: what is not there can be deleted without effect', async (t) => {
    const driver = await open(t)
    const before = await driver.headRevision()
    const result = await driver.txn([], [remove('/nothing')])
    t.equal(result.succeeded, true)
    t.equal(await driver.headRevision(), before)
  })
}

const ranges = async (t: Test, { open }: DriverFixture) => {
  await t.test('RunTestList: keys come in order, by prefix, in pages', async (t) => {
    const driver = await open(t)
    for (const key of ['/p/x-b/1', '/p/x/2', '/p/x/1', '/q/1', '/p0'])
      await write(driver, put(key, 'v'))
    const all = await driver.range({ prefix: '/p/' })
    t.same(
      all.kvs.map((kv) => kv.key),
      ['/p/x-b/1', '/p/x/1', '/p/x/2'],
      'byte order',
    )
    const first = await driver.range({ prefix: '/p/', limit: 2 })
    t.equal(first.more, true)
    const rest = await driver.range({ prefix: '/p/', start: '/p/x/1\0', limit: 2 })
    t.same([rest.more, rest.kvs.map((kv) => kv.key)], [false, ['/p/x/2']])
    t.same((await driver.range({ prefix: '/none/' })).kvs, [])
  })

  await t.test('a range at a past revision shows the state as it was', async (t) => {
    const driver = await open(t)
    const one = await write(driver, put('/a', '1'), put('/b', '1'))
    const two = await write(driver, put('/a', '2'))
    const three = await write(driver, remove('/b'), put('/c', '3'))
    const at = async (revision: number) =>
      shown((await driver.range({ prefix: '/', revision })).kvs)
    t.same(await at(one), [`/a=1@${one}/${one}`, `/b=1@${one}/${one}`])
    t.same(await at(two), [`/a=2@${two}/${one}`, `/b=1@${one}/${one}`])
    t.same(await at(three), [`/a=2@${two}/${one}`, `/c=3@${three}/${three}`])
    t.equal(await code(driver.range({ prefix: '/', revision: three + 10 })), 'FutureRevision')
  })

  await t.test('pages of every past revision show it, and how many keys were left', async (t) => {
    const driver = await open(t)
    const states = new Map([[await driver.headRevision(), [] as string[]]])
    const note = async (...operations: Operation[]) => {
      const revision = await write(driver, ...operations)
      states.set(revision, shown((await driver.range({ prefix: '/p/' })).kvs))
    }
    for (const key of ['/p/d', '/p/b', '/o', '/p/e', '/p/f']) await note(put(key, '1'))
    await note(remove('/p/b'), put('/p/a', '2'), put('/q', '2'))
    await note(put('/p/d', '3'))
    await note(put('/p/b', '4'), remove('/p/f'))
    await note(remove('/p/d'), put('/p/g', '5'))
    for (const [revision, state] of states) {
      for (const start of ['/p/b', '/p/d', '/p/f', '/p/g']) {
        const page = await driver.range({ prefix: '/p/', start, revision })
        const rest = state.filter((one) => one >= start)
        t.same([page.count, shown(page.kvs)], [rest.length, rest], `from ${start} at ${revision}`)
      }
      for (const limit of [0, 1, 2, 3]) {
        const found: string[] = []
        let start = '/p/'
        for (let more = true; more; ) {
          const page = await driver.range({ prefix: '/p/', start, limit, revision })
          t.equal(page.count, state.length - found.length, `${start} at ${revision}`)
          found.push(...shown(page.kvs))
          start = `${page.kvs.at(-1)?.key}\0`
          more = page.more
        }
        t.same(found, state, `at ${revision} in pages of ${limit}`)
      }
    }
  })
}

const watches = async (t: Test, { open }: DriverFixture) => {
  await t.test(
    'RunTestWatch: history first, then live, each event once with what was before',
    async (t) => {
      const driver = await open(t)
      const start = await write(driver, put('/a', '1'))
      const two = await write(driver, put('/a', '2'), put('/x', 'other'))
      const three = await write(driver, remove('/a'))
      const live = take(driver, { prefix: '/a', after: start }, 3)
      const four = await write(driver, put('/a', '4'))
      t.same((await live).map(described), [
        `${two} put /a 1>2`,
        `${three} delete /a 2>-`,
        `${four} put /a ->4`,
      ])
    },
  )

  await t.test(
    'RunTestWatchFromNow: without a revision it starts with what happens next',
    async (t) => {
      const driver = await open(t)
      await write(driver, put('/a', '1'))
      const told: string[] = []
      const live = take(driver, { prefix: '/' }, 1).then((events) =>
        told.push(...events.map(described)),
      )
      // Of a store that others share nobody can tell when it has taken the watch on: any of these may be the first.
      const written: string[] = []
      for (let n = 2; told.length === 0; n++) {
        const revision = await write(driver, put('/a', String(n)))
        written.push(`${revision} put /a ${n - 1}>${n}`)
        await pause(driver.shared ? 20 : 0)
      }
      await live
      const first = driver.shared ? written.indexOf(told[0]!) : 0
      // What comes late comes in one batch.
      t.same(told, written.slice(first, first + told.length))
    },
  )

  await t.test('a watch from a future revision gives nothing up to it', async (t) => {
    const driver = await open(t)
    const one = await write(driver, put('/a', '1'))
    const live = take(driver, { prefix: '/', after: one + 1 }, 1)
    await write(driver, put('/a', '2'))
    const three = await write(driver, put('/a', '3'))
    t.same((await live).map(described), [`${three} put /a 2>3`])
  })

  await t.test(
    'the events of one transaction come in one batch; progress comes when history has',
    async (t) => {
      const driver = await open(t)
      const start = await driver.headRevision()
      const one = await write(driver, put('/a', '1'), put('/b', '1'))
      await write(driver, put('/elsewhere', '1'))
      const controller = new AbortController()
      t.teardown(() => controller.abort())
      const { signal } = controller
      for await (const batch of driver.watch({ prefix: '/', after: start, signal })) {
        const ofOne = batch.events.filter((event) => event.revision === one)
        if (ofOne.length > 0) {
          t.equal(ofOne.length, 2)
          break
        }
      }
      for await (const batch of driver.watch({ prefix: '/none', after: start, signal })) {
        t.same(batch.events, [])
        t.ok(batch.revision >= one)
        break
      }
    },
  )

  await t.test(
    'RunTestDelayedWatchDelivery: a watcher that does not read loses nothing',
    async (t) => {
      const driver = await open(t)
      const controller = new AbortController()
      t.teardown(() => controller.abort())
      const after = await driver.headRevision()
      const watch = driver.watch({ prefix: '/', after, signal: controller.signal })
      const iterator = watch[Symbol.asyncIterator]()
      const started = iterator.next()
      const revisions: number[] = []
      for (let i = 0; i < 200; i++)
        revisions.push(await write(driver, put(`/k${i % 7}`, String(i))))
      const seen: number[] = (await started).value.events.map(
        (event: StorageEvent) => event.revision,
      )
      while (seen.length < 200) {
        const { value } = await iterator.next()
        seen.push(...value.events.map((event: StorageEvent) => event.revision))
      }
      t.same(seen, revisions)
    },
  )

  await t.test('an aborted watch ends, however far its opening has come', async (t) => {
    const driver = await open(t)
    for (const turns of [...Array(60).keys(), 300]) {
      const controller = new AbortController()
      const { signal } = controller
      const ended = (async () => {
        for await (const _ of driver.watch({ prefix: '/', signal }));
        return 'ended'
      })()
      for (let turn = 0; turn < turns; turn++) await nextTurn()
      controller.abort()
      t.equal(await ended, 'ended', `aborted after ${turns} turns of the event loop`)
    }
  })

  await t.test('a watch ends with Closed, however far its opening has come', async (t) => {
    for (const turns of [0, 1, 2, 4, 8, 16, 32]) {
      const driver = await open(t)
      const live = code(take(driver, { prefix: '/' }, 1))
      for (let turn = 0; turn < turns; turn++) await nextTurn()
      await driver.close()
      t.equal(await live, 'Closed', `closed after ${turns} turns of the event loop`)
    }
  })
}

const compactions = async (t: Test, { open }: DriverFixture) => {
  await t.test(
    'RunTestWatchFromCompacted, RunTestListPaging: before it Compacted, at it whole',
    async (t) => {
      const driver = await open(t)
      const one = await write(driver, put('/a', '1'), put('/b', '1'))
      await write(driver, put('/a', '2'))
      const three = await write(driver, remove('/b'))
      const four = await write(driver, put('/a', '4'))
      await driver.compact(three)
      t.equal(driver.compactedRevision(), three)
      t.equal(await code(driver.range({ prefix: '/', revision: one })), 'Compacted')
      t.equal(await code(take(driver, { prefix: '/', after: one }, 1)), 'Compacted')
      const at = await driver.range({ prefix: '/', revision: three })
      t.same(
        at.kvs.map((kv) => `${kv.key}=${kv.value}`),
        ['/a=2'],
      )
      t.same((await take(driver, { prefix: '/', after: three }, 1)).map(described), [
        `${four} put /a 2>4`,
      ])
      t.ok((await driver.headRevision()) >= four, 'the head does not go back')
      t.equal(await code(driver.compact(four + 100)), 'FutureRevision')
      await driver.compact(one)
      t.equal(driver.compactedRevision(), three, 'compaction does not go back')
    },
  )

  await t.test('after close every call is refused and watches end with Closed', async (t) => {
    const driver = await open(t)
    const live = code(take(driver, { prefix: '/' }, 1))
    await driver.headRevision()
    await driver.close()
    t.equal(await live, 'Closed')
    const calls = [
      driver.headRevision(),
      driver.get('/a'),
      driver.range({ prefix: '/' }),
      driver.txn([], [put('/a', '1')]),
      driver.compact(1),
    ]
    for (const call of calls) t.equal(await code(call), 'Closed')
    t.ok(await driver.health({ timeoutMs: 1_000 }))
    await driver.close()
  })
}
