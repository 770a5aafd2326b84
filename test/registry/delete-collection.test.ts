/** Deleting a collection of many pages, in which some objects are refused and others are gone already. */
import t from 'tap'
import { conflict, notFound } from '#api/errors.js'
import { nextTurn } from '#async/turns.js'
import type { ListPage, StoredObject } from '#cacher/object-storage.js'
import { limits } from '#limits'
import { deleteCollection } from '#registry/delete-collection.js'
import type { RequestContext } from '#registry/resource-definition.js'
import { turnsOf } from '../turns-of.js'

const gvr = { group: '', version: 'v1', resource: 'configmaps' }

interface Asked {
  /** How many objects had been deleted by then. */
  deleted?: number
  limit: number
  startKey?: string
  consistency: { kind: string; revision?: number }
}

/** A store of `count` objects that shows `length` of them a page, whatever limit is asked for, and all without one. */
const storeOf = (count: number, length: number, { isSlow = false } = {}) => {
  const names = Array.from({ length: count }, (_, i) => `m${String(i).padStart(5, '0')}`)
  const asked: Asked[] = []
  const deleted: string[] = []
  const open = new Set<string>()
  /** Those that wait for the disk, and how many did at once, each time. */
  let waiting: (() => void)[] = []
  const rounds: number[] = []
  /** What becomes of a delete once it is decided; nothing: it is done. */
  let outcome: (name: string) => unknown = () => undefined
  const write = (): void => {
    rounds.push(waiting.length)
    for (const goOn of waiting) goOn()
    waiting = []
  }
  const store = {
    definition: { gvr },
    list: async (request: Asked): Promise<ListPage> => {
      asked.push({ ...request, deleted: deleted.length })
      const from = Number(request.startKey ?? 0)
      const end = request.limit === 0 ? count : from + length
      const page = names.slice(from, end)
      const items = page.map((name) => ({ object: { metadata: { name, namespace: 'd' } } }))
      const nextKey = end < count ? String(end) : undefined
      // Others write meanwhile.
      const { revision = 40 + asked.length } = request.consistency
      return { items: items as unknown as StoredObject[], revision, nextKey }
    },
    delete: async (ctx: RequestContext, name: string) => {
      deleted.push(name)
      const error = outcome(name)
      if (error !== undefined) throw error
      open.add(name)
      // A slow disk takes all that wait for it when nobody comes any more.
      const written = new Promise<void>((resolve) => void waiting.push(resolve))
      if (!isSlow) write()
      else if (waiting.length === 1) setImmediate(write)
      ctx.inCollection!.decided()
      await written
      open.delete(name)
    },
  }
  const stop = new AbortController()
  const run = (limit: number) =>
    deleteCollection(
      store as never,
      { caller: { signal: stop.signal } } as never,
      {},
      {
        selection: { prefix: '/' },
        limit: limit || limits.deleteCollectionPageLength,
        consistency: { kind: 'consistent' },
        isOnePage: limit > 0,
      },
    )
  return {
    run,
    names,
    asked,
    deleted,
    open,
    stop,
    rounds,
    fail: (by: typeof outcome) => void (outcome = by),
  }
}

t.test(
  'all is read at the revision of the first page before anything is deleted, and answered',
  async (t) => {
    const { run, names, asked, deleted, open, rounds } = storeOf(700, 300, { isSlow: true })
    const { items, revision, nextKey } = await run(0)
    t.same(deleted, names)
    t.same(
      items.map(({ object }) => object.metadata.name),
      names,
    )
    t.same([revision, nextKey], [41, '300'], 'as the first page says')
    t.match(asked, [
      { consistency: { kind: 'consistent' }, deleted: 0 },
      { startKey: '300', limit: 0, consistency: { kind: 'exact', revision: 41 }, deleted: 0 },
    ])
    t.equal(asked.length, 2)
    const most = limits.deleteCollectionWritesMax
    t.ok(
      rounds.every((length) => length <= most),
      'no more wait for the disk together than may',
    )
    t.ok(rounds.length < 100, 'but many do')
    t.equal(
      rounds.reduce((sum, length) => sum + length),
      700,
    )
    t.equal(open.size, 0, 'and it is not over before they are')
  },
)

t.test('whoever asks for a page has that one deleted', async (t) => {
  const { run, names, asked, deleted } = storeOf(5, 3)
  t.match(await run(3), { nextKey: '3' })
  t.same(deleted, names.slice(0, 3))
  t.match(asked, [{ limit: 3 }])
})

t.test('what is gone already is no error, what is refused ends it', async (t) => {
  const { run, names, deleted, open, fail } = storeOf(9, 4)
  fail((name) => {
    if (name === names[1]) return notFound(gvr, name)
    return name === names[6] ? conflict(gvr, name, 'held') : undefined
  })
  await t.rejects(run(0), { code: 409 })
  t.same(deleted, names.slice(0, 7), 'nothing behind it is touched')
  t.equal(open.size, 0)
})

t.test('a client that leaves takes the rest of its collection along', async (t) => {
  const { run, names, deleted, fail, stop } = storeOf(9, 4)
  fail((name) => void (name === names[5] && stop.abort(new Error('gone'))))
  await t.rejects(run(0), { message: 'gone' })
  t.same(deleted, names.slice(0, 6))
})

t.test('others have their turn between objects that take long', async (t) => {
  // A turn that the tests before took may not be over.
  for (let i = 0; i < 5; i++) await nextTurn()
  const { run, fail } = storeOf(3, 3)
  const { spend, spent } = turnsOf(t)
  fail((name) => {
    spend()
    // Nobody has to wait for a write.
    return notFound(gvr, name)
  })
  await run(0)
  t.equal(new Set(spent).size, 3)
})
