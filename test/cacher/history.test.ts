/** What the watch cache remembers of the past, and who waits for what is to come. */
import t, { type Test } from 'tap'
import { systemClock } from '#api/clock.js'
import { nextTurn } from '#async/turns.js'
import { makeCacher } from '#cacher/cacher.js'
import { History } from '#cacher/history.js'
import { encodeObject } from '#cacher/object-bytes.js'
import type { Selection } from '#cacher/object-storage.js'
import { Progress } from '#cacher/progress.js'
import { ResourceCache } from '#cacher/resource-cache.js'
import { makeWorkingSets, StoredVersion } from '#cacher/stored-version.js'
import { Change } from '#cacher/watch-event.js'
import { limits } from '#limits'
import { type StorageDriver, StorageError } from '#storage/driver.js'
import { openStorage } from '#storage/open.js'
import { SortedMap } from '#storage/sorted-map.js'
import { take } from '../storage/suite.js'
import { keyOf, labelled, lines, pod, prefix } from './object-storage-suite.js'
import { expectedEvents } from './watch-oracle.js'

t.test(
  'a version that is yet to come is waited for, but not for what upstream does not cache',
  async (t) => {
    t.intercept(limits as { futureRevisionWaitMs: number }, 'futureRevisionWaitMs', {
      value: 60_000,
    })
    const driver = await openStorage('memory:', { clock: systemClock })
    const cacher = await makeCacher({ driver, clock: systemClock })
    t.teardown(async () => {
      await cacher.close()
      await driver.close()
    })
    const pods = cacher.forResource({ prefix })
    const eventsPrefix = '/registry/events/'
    const events = cacher.forResource({ prefix: eventsPrefix, awaitsFuture: false })
    const revision = cacher.currentRevision() + 1
    const consistency = { kind: 'notOlderThan', revision } as const
    const waiting = pods.list({ selection: { prefix }, consistency, limit: 0 })
    const listed = async () =>
      events.list({ selection: { prefix: eventsPrefix }, consistency, limit: 0 })
    await t.rejects(listed(), { code: 'FutureRevision' })
    const { signal } = new AbortController()
    const options = { selection: { prefix: eventsPrefix }, after: revision, signal }
    const watch = events.watch({ ...options, sendInitialEvents: true })
    await t.rejects(watch[Symbol.asyncIterator]().next(), { code: 'FutureRevision' })
    // The others have not waited as long as this one may, or it would be refused.
    await pods.create(keyOf('a'), pod('a', 1))
    t.equal((await waiting).items.length, 1)
    t.equal((await listed()).items.length, 0)
  },
)

t.test('the oldest changes are dropped from their rings when they are too old or too many', (t) => {
  const history = new History()
  let dropped: string[] = []
  let revision = 0
  const add = (name: string, size: number, at: number): void => {
    const cache = { dropOldest: () => dropped.push(name) } as unknown as ResourceCache
    history.add(cache, { revision: ++revision, size } as Change, at)
  }
  const droppedAt = (now: number): string[] => {
    dropped = []
    history.trim(now)
    return dropped
  }
  const half = limits.watchHistoryBytesMax / 2
  const age = limits.watchHistoryMs
  add('a', 1, 0)
  add('b', 1, 10)
  add('c', half, 20)
  t.same(droppedAt(age), [], 'as old as it may be')
  t.same(droppedAt(age + 1), ['a'])
  add('d', half - 1, 30)
  t.same(droppedAt(40), [], 'just as much as there may be')
  add('e', half, 40)
  t.same(droppedAt(40), ['b', 'c'])
  t.same(droppedAt(2 * age), ['d', 'e'])
  t.same(droppedAt(3 * age), [])
  t.end()
})

t.test('what is dropped is not held any more', (t) => {
  const sets = makeWorkingSets(1)
  const cache = new ResourceCache(prefix, {}, 0, new SortedMap())
  for (const n of [1, 2]) {
    const key = keyOf(`p${n}`)
    const { value } = encodeObject(pod(`p${n}`, n))
    cache.apply(new Change(n, new StoredVersion(key, value, n, sets), undefined))
  }
  cache.dropOldest()
  t.equal(cache.floor, 1)
  const held = cache.batchAfter({ prefix }, 0, 2)
  t.same(
    held?.events.map(({ revision }) => revision),
    [2],
  )
  t.end()
})

t.test('waiting for a revision ends when it is there, or when it will not come', async (t) => {
  const progress = new Progress()
  progress.moveTo(5)
  const outcomes: string[] = []
  const wait = (name: string, revision: number, timeoutMs?: number): Promise<void> =>
    progress.waitFor(revision, timeoutMs).then(
      () => void outcomes.push(`${name} at ${progress.revision}`),
      (error) => void outcomes.push(`${name} ${error.code}`),
    )
  await wait('there', 5)
  const [later, longer] = [wait('later', 7, 60_000), wait('longer', 9)]
  progress.moveTo(6)
  progress.moveTo(4)
  t.equal(progress.revision, 6, 'it never goes back')
  await t.rejects(progress.waitFor(8, 1), { code: 'FutureRevision', revision: 6 })
  progress.moveTo(7)
  await later
  t.same(outcomes, ['there at 5', 'later at 7'])
  progress.fail(new StorageError('Closed', 'over'))
  await longer
  await wait('after', 8)
  await wait('known', 7)
  t.same(outcomes.slice(2), ['longer Closed', 'after Closed', 'known at 7'])
  t.match(progress.failure, { code: 'Closed' })
})

/** A cache that forgets when the test wants it, what it asks its store for, and watchers that read late. */
const startForgetful = async (t: Test) => {
  let now = 0
  let begun = 0
  let open = 0
  const store = await openStorage('memory:', { clock: systemClock })
  const driver: StorageDriver = Object.create(store, {
    watch: {
      value: async function* (options: Parameters<StorageDriver['watch']>[0]) {
        begun++
        open++
        try {
          yield* store.watch(options)
        } finally {
          open--
        }
      },
    },
  })
  const cacher = await makeCacher({ driver, clock: { now: () => now } })
  const pods = cacher.forResource({ prefix })
  t.teardown(async () => {
    await cacher.close()
    await store.close()
  })
  const watch = (selection: Selection) => {
    const after = pods.currentRevision()
    const { signal } = new AbortController()
    const batches = pods.watch({ selection, after, signal })[Symbol.asyncIterator]()
    const read = async (until: number): Promise<string[]> => {
      const seen: string[] = []
      for (let revision = 0; revision < until; ) {
        const { value } = await batches.next()
        seen.push(...lines([value]))
        revision = value.revision
      }
      return seen
    }
    return { after, batches, read }
  }
  return {
    store,
    pods,
    watch,
    /** Watches of the store beside the cache's own. */
    watches: () => ({ begun: begun - 1, open: open - 1 }),
    /** The changes so far are too old for the cache from the next one on. */
    forget: () => void (now += limits.watchHistoryMs + 1),
  }
}

t.test('events that the cache has forgotten come from the store, in order and once', async (t) => {
  const { store, pods, watch, watches, forget } = await startForgetful(t)
  const views = [{ prefix }, { prefix, label: 'x' }, { prefix, label: 'y' }]
  const watchView = ({ label }: { label?: string }) =>
    watch(label === undefined ? { prefix } : labelled(label))
  const asleep = views.map(watchView)
  const a = await pods.create(keyOf('a'), pod('a', 1, 'x'))
  await pods.create(keyOf('b'), pod('b', 1, 'y'))
  const drowsy = watchView({})
  const changed = await pods.update(a, pod('a', 2, 'y'))
  t.same((await drowsy.read(changed.revision)).length, 1)
  forget()
  await pods.delete(changed)
  await pods.create(keyOf('c'), pod('c', 1, 'x'))
  t.equal((await drowsy.read(pods.currentRevision())).length, 2)
  t.same(watches(), { begun: 0, open: 0 }, 'what it remembers, the cache tells')
  forget()
  const d = await pods.create(keyOf('d'), pod('d', 1, 'x'))
  const last = await pods.update(d, pod('d', 2, 'y'))
  const history = await take(store, { prefix, after: 1 }, 7)
  for (const [index, { after, read }] of asleep.entries())
    t.same(await read(last.revision), expectedEvents(history, views[index]!, after))
  await nextTurn()
  t.same(watches(), { begun: asleep.length, open: 0 }, 'only what it does not')
})

t.test('a watch of events that the store has forgotten, too, ends with an error', async (t) => {
  const { store, pods, watch, forget } = await startForgetful(t)
  const { batches } = watch({ prefix })
  await pods.create(keyOf('a'), pod('a', 1))
  forget()
  await pods.create(keyOf('b'), pod('b', 1))
  await store.compact(pods.currentRevision())
  await t.rejects(batches.next(), { code: 'Compacted' })
  t.match(await batches.next(), { done: true }, 'and that is the end')
})

t.test('a batch ends between revisions, however much one of them wrote', async (t) => {
  const { store, pods, watch } = await startForgetful(t)
  const { after, batches } = watch({ prefix })
  const value = encodeObject(pod('large', 'x'.repeat(limits.watchBatchBytesMax))).value
  const put = (name: string) => ({ type: 'put', key: keyOf(name), value }) as const
  await store.txn([], ['a', 'b', 'c'].map(put))
  const { revision } = await store.txn([], [put('d')])
  await pods.get(keyOf('d'), { kind: 'notOlderThan', revision })
  const revisionsOf = async () =>
    (await batches.next()).value.events.map(({ revision }: { revision: number }) => revision)
  t.same(await revisionsOf(), [after + 1, after + 1, after + 1])
  t.same(await revisionsOf(), [after + 2])
})
