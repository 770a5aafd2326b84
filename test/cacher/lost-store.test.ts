/** A cache whose watch of the store breaks: what it shows then, and what those who watch it are told. */
import t, { type Test } from 'tap'
import { systemClock } from '#api/clock.js'
import { nextTurn } from '#async/turns.js'
import { makeCacher } from '#cacher/cacher.js'
import { encodeObject } from '#cacher/object-bytes.js'
import type { ObjectStorage, Selection } from '#cacher/object-storage.js'
import { type EventBatch, type StorageDriver, StorageError } from '#storage/driver.js'
import { openStorage } from '#storage/open.js'
import { eventually } from '../eventually.js'
import { driverWith } from '../histories/planted-driver-bugs.js'
import { batches, fields, keyOf, labelled, lines, pod, prefix } from './object-storage-suite.js'

// A cacher's timers keep no process alive.
const alive = setInterval(() => {}, 1_000)
t.teardown(() => clearInterval(alive))

/** The store as the cache sees it, until the test cuts it off. */
const startCut = async (t: Test) => {
  const store = await openStorage('memory:', { clock: systemClock })
  let cut: (error: Error) => void = () => {}
  let open: () => void = () => {}
  let gate: Promise<void> = Promise.resolve()
  let failRange: Error | undefined
  let ranges = 0
  const driver: StorageDriver = new Proxy(store, {
    get(target, key) {
      if (key === 'watch') return watch
      if (key === 'range') return range
      const value: unknown = Reflect.get(target, key, target)
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
  async function* watch(options: Parameters<StorageDriver['watch']>[0]) {
    await gate
    const broken = new Promise<IteratorResult<EventBatch>>((_, reject) => {
      cut = reject
    })
    broken.catch(() => {})
    const events = store.watch(options)[Symbol.asyncIterator]()
    for (;;) {
      const { done, value } = await Promise.race([events.next(), broken])
      if (done) return
      yield value
    }
  }
  const range: StorageDriver['range'] = async (options) => {
    await gate
    ranges++
    const error = failRange
    failRange = undefined
    if (error !== undefined) throw error
    return store.range(options)
  }
  const log: string[] = []
  const cacher = await makeCacher({ driver, clock: systemClock, log: (line) => log.push(line) })
  const pods = cacher.forResource({ prefix, fields })
  t.teardown(async () => {
    open()
    await cacher.close()
    await store.close()
  })
  return {
    store,
    cacher,
    pods,
    log,
    ranges: () => ranges,
    /** Nothing more is heard of the store until `mend`. */
    async lose(error: StorageError) {
      gate = new Promise((resolve) => {
        open = resolve
      })
      cut(error)
      await eventually('the loss is noticed', () => cacher.health() !== undefined)
    },
    mend(firstRange?: Error) {
      failRange = firstRange
      open()
    },
  }
}

const put = (name: string, n: number, key = keyOf(name)) =>
  ({ type: 'put', key, value: encodeObject(pod(name, n)).value }) as const

const seenUpTo = async (pods: ObjectStorage, revision: number) =>
  pods.list({ selection: { prefix }, consistency: { kind: 'notOlderThan', revision }, limit: 0 })

t.test('what the store forgot to tell is read again, and watchers begin anew', async (t) => {
  const { store, cacher, pods, log, ranges, lose, mend } = await startCut(t)
  for (const name of ['a', 'b', 'c'])
    await pods.create(keyOf(name), pod(name, 1, name === 'b' ? 'y' : 'x'))
  const shown = async (storage: ObjectStorage, selection: Selection) => {
    const consistency = { kind: 'any' } as const
    const { items } = await storage.list({ selection, consistency, limit: 0 })
    return items.map(({ object }) => `${object.metadata.name} ${object.spec?.n ?? ''}`)
  }
  t.same(await shown(pods, labelled('x')), ['a 1', 'c 1'])
  const gadgets = '/registry/example.com/gadgets/'
  await store.txn([], [put('old', 1, `${gadgets}d/old`)])
  await seenUpTo(pods, await store.headRevision())
  const watching = batches(pods, { selection: { prefix }, after: 'now' }, () => false)
  watching.catch(() => {})
  await lose(new StorageError('Compacted', 'too far behind'))
  await store.txn([], [{ type: 'delete', key: keyOf('a') }, put('b', 2), put('d', 1)])
  const { revision } = await store.txn([], [put('new', 1, `${gadgets}d/new`)])
  await store.compact(revision)
  const before = ranges()
  mend(new StorageError('Unavailable', 'not now'))
  await seenUpTo(pods, revision)
  t.equal(ranges() - before, 2, 'also after a read that failed')
  t.same(await shown(pods, { prefix }), ['b 2', 'c 1', 'd 1'])
  t.same(await shown(pods, labelled('x')), ['c 1'])
  const late = cacher.forResource({ prefix: gadgets })
  t.same(await shown(late, { prefix: gadgets }), ['new 1', 'old 1'])
  await t.rejects(watching, { code: 'Compacted' })
  const next = batches(
    pods,
    { selection: { prefix }, after: revision },
    (all) => lines(all).length > 1,
  )
  await pods.create(keyOf('e'), pod('e', 1))
  await store.txn([], [put('c', 2)])
  t.match(lines(await next), [/ ADDED .*\/e /, / MODIFIED .*\/c /])
  t.equal(cacher.health(), undefined)
  t.same(
    [...new Set(log)],
    ['the watch cache lost the store', 'the watch cache cannot read the store'],
  )
})

t.test('a watch that only broke goes on where it was: nobody misses anything', async (t) => {
  const { store, cacher, pods, ranges, lose, mend } = await startCut(t)
  await pods.create(keyOf('a'), pod('a', 1))
  const watching = batches(
    pods,
    { selection: { prefix }, after: cacher.currentRevision() },
    (all) => lines(all).length > 1,
  )
  const before = ranges()
  await lose(new StorageError('Unavailable', 'the connection broke'))
  await store.txn([], [put('b', 1)])
  await store.txn([], [{ type: 'delete', key: keyOf('a') }])
  mend()
  t.match(lines(await watching), [/ ADDED .*\/b /, / DELETED .*\/a /])
  t.equal(ranges(), before, 'and nothing is read again')
  t.equal(cacher.health(), undefined)
})

t.test('a store that was closed ends the cache, and all who wait for it', async (t) => {
  const { cacher, pods, lose } = await startCut(t)
  const watching = batches(pods, { selection: { prefix }, after: 'now' }, () => false)
  watching.catch(() => {})
  const waiting = seenUpTo(pods, cacher.currentRevision() + 1)
  waiting.catch(() => {})
  await lose(new StorageError('Closed', 'the store is closed'))
  await t.rejects(watching, { code: 'Closed' })
  await t.rejects(waiting, { code: 'Closed' })
  const consistency = { kind: 'consistent' } as const
  await t.rejects(async () => pods.get(keyOf('a'), consistency), { code: 'Closed' })
})

t.test(
  'what a store of several servers is slow to tell is asked of the store itself',
  async (t) => {
    const store = await openStorage('memory:', { clock: systemClock })
    let silence: Promise<void> | undefined
    let speak: () => void = () => {}
    const driver = driverWith(store, {
      async *watch(options) {
        for await (const batch of store.watch(options)) {
          await silence
          yield batch
        }
      },
    })
    const cacher = await makeCacher({ driver, clock: systemClock })
    const pods = cacher.forResource({ prefix, fields })
    t.teardown(async () => {
      speak()
      await cacher.close()
      await store.close()
    })
    const old = await pods.create(keyOf('a'), pod('a', 1))
    const going = await pods.create(keyOf('g'), pod('g', 1))
    silence = new Promise((resolve) => {
      speak = resolve
    })
    const { revision } = await store.txn([], [put('a', 2), put('b', 1)])
    const consistency = { kind: 'consistent' } as const
    const [a, none, { items }, created, deleted] = await Promise.all([
      pods.get(keyOf('a'), consistency),
      pods.get(keyOf('none'), consistency),
      pods.list({ selection: { prefix }, consistency, limit: 2 }),
      pods.create(keyOf('c'), pod('c', 1)),
      pods.delete(going),
      t.rejects(seenUpTo(pods, revision), { code: 'FutureRevision' }),
    ])
    t.same([a?.object.spec.n, none], [2, undefined])
    t.same(
      items.map(({ object }) => `${object.metadata.name} ${object.spec.n}`),
      ['a 2', 'b 1'],
    )
    t.same([created.object.spec.n, deleted.object.spec.n], [1, 1], 'what is written is written')
    t.equal(await pods.get(keyOf('a'), { kind: 'any' }), old, 'what is at hand is what was heard')
    speak()
    const { items: heard } = await seenUpTo(pods, deleted.revision)
    t.same(
      heard.map(({ object }) => object.metadata.name),
      ['a', 'b', 'c'],
    )
  },
)

t.test(
  'a write is done when it can be read here, however slow its own store is to tell',
  async (t) => {
    const store = await openStorage('memory:', { clock: systemClock })
    const driver: StorageDriver = Object.create(store, {
      watch: {
        value: async function* (options: Parameters<StorageDriver['watch']>[0]) {
          for await (const batch of store.watch(options)) {
            await nextTurn()
            yield batch
          }
        },
      },
    })
    const cacher = await makeCacher({ driver, clock: systemClock })
    const pods = cacher.forResource({ prefix, fields })
    t.teardown(async () => {
      await cacher.close()
      await store.close()
    })
    const atHand = () => pods.atHand!.get(keyOf('a'))
    const created = await pods.create(keyOf('a'), pod('a', 1))
    t.equal(atHand(), created)
    const updated = await pods.update(created, pod('a', 2))
    t.equal(atHand(), updated)
    await pods.delete(updated)
    t.equal(atHand(), undefined)
  },
)
