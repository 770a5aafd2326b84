/** Deleting a collection of many pages, in which some objects are refused and others are gone already. */
import t from 'tap'
import { conflict, notFound } from '#api/errors.js'
import type { ListPage, StoredObject } from '#cacher/object-storage.js'
import { limits } from '#limits'
import { deleteCollection } from '#registry/delete-collection.js'
import type { RequestContext } from '#registry/resource-definition.js'

const gvr = { group: '', version: 'v1', resource: 'configmaps' }

interface Asked {
  limit: number
  startKey?: string
  consistency: { kind: string; revision?: number }
}

/** A store of `count` objects that shows `length` of them a page, however many are asked for. */
const storeOf = (count: number, length: number) => {
  const names = Array.from({ length: count }, (_, i) => `m${String(i).padStart(5, '0')}`)
  const asked: Asked[] = []
  const deleted: string[] = []
  const open = new Set<string>()
  let mostOpen = 0
  let rounds = 0
  /** What becomes of a delete once it is decided; nothing: it is done. */
  let outcome: (name: string) => unknown = () => undefined
  const store = {
    definition: { gvr },
    list: async (request: Asked): Promise<ListPage> => {
      asked.push(request)
      const from = Number(request.startKey ?? 0)
      const page = names.slice(from, from + length)
      const items = page.map((name) => ({ object: { metadata: { name, namespace: 'd' } } }))
      const nextKey = from + length < count ? String(from + length) : undefined
      // Others write meanwhile.
      const { revision = 40 + asked.length } = request.consistency
      return { items: items as unknown as StoredObject[], revision, nextKey }
    },
    delete: async (ctx: RequestContext, name: string) => {
      deleted.push(name)
      const error = outcome(name)
      if (error !== undefined) throw error
      if (open.size === 0) rounds++
      open.add(name)
      mostOpen = Math.max(mostOpen, open.size)
      ctx.inCollection!.decided()
      await new Promise((resolve) => setImmediate(resolve))
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
    /** Deletes that waited for the disk at once, and how often none did. */
    writes: () => ({ most: mostOpen, rounds }),
    fail: (by: typeof outcome) => void (outcome = by),
  }
}

t.test('all pages are of the revision of the first, and all objects are answered', async (t) => {
  const { run, names, asked, deleted, open, writes } = storeOf(700, 300)
  const { items, revision, nextKey } = await run(0)
  t.same(deleted, names)
  t.same(
    items.map(({ object }) => object.metadata.name),
    names,
  )
  t.same([revision, nextKey], [41, '300'], 'as the first page says')
  t.match(asked, [
    { consistency: { kind: 'consistent' } },
    { startKey: '300', consistency: { kind: 'exact', revision: 41 } },
    { startKey: '600', consistency: { kind: 'exact', revision: 41 } },
  ])
  t.equal(asked.length, 3)
  const most = limits.deleteCollectionWritesMax
  t.ok(most < 300)
  t.same(writes(), { most, rounds: 5 }, 'as many wait for the disk together as may')
  t.equal(open.size, 0, 'and it is not over before they are')
})

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
