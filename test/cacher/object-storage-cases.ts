/** More of what object storage must do: lists and watches of every view against what the driver's history says. */
import { setTimeout as pause } from 'node:timers/promises'
import type { Test } from 'tap'
import type { KubeObject } from '#api/object.js'
import {
  type ObjectEventBatch,
  type ObjectStorage,
  type ObjectWatchOptions,
  type ReadConsistency,
  type Selection,
  type StoredObject,
  WriteConflict,
} from '#cacher/object-storage.js'
import type { StorageEvent } from '#storage/driver.js'
import { eventually } from '../eventually.js'
import { seededRandom } from '../seeded-random.js'
import { historyUpTo } from '../storage/suite.js'
import { batches, lines, type ObjectStorageFixture, pod, prefix } from './object-storage-suite.js'

const consistent: ReadConsistency = { kind: 'consistent' }
const namespaces = ['d', 'd-1', 'd1']
const keyIn = (namespace: string, name: string) => `${prefix}${namespace}/${name}`

/** One view of a list or a watch: a selection, and the same said plainly. */
interface View {
  readonly selection: Selection
  readonly shows: (key: string, object: KubeObject) => boolean
}

/** Every namespace or one, with and without a label, a node and a name. */
const views = (): View[] =>
  [undefined, ...namespaces].flatMap((namespace) =>
    [undefined, 'x', 'y'].flatMap((app) =>
      [undefined, 'n1'].flatMap((node) =>
        [undefined, 'p1'].flatMap((name) => {
          if (name !== undefined && namespace === undefined) return []
          const within = namespace === undefined ? prefix : `${prefix}${namespace}/`
          const key = name === undefined ? undefined : keyIn(namespace!, name)
          const fits = ({ metadata, spec }: KubeObject): boolean =>
            (app === undefined || metadata.labels?.app === app) &&
            (node === undefined || spec?.nodeName === node)
          const selection: Selection = {
            prefix: within,
            key,
            ...(app && { labelEquals: new Map([['app', app]]) }),
            ...(node && { fieldEquals: new Map([['spec.nodeName', node]]) }),
            ...((app ?? node) && { matches: (stored) => fits(stored.object) }),
          }
          const shows = (at: string, object: KubeObject) =>
            at.startsWith(within) && (key === undefined || at === key) && fits(object)
          return [{ selection, shows }]
        }),
      ),
    ),
  )

/** Creates, changes and deletes pods of several namespaces, labels and nodes. */
const churn = async (pods: ObjectStorage, steps: number, random: () => number) => {
  const any = <T>(values: readonly T[]): T => values[Math.floor(random() * values.length)]!
  for (let n = 0; n < steps; n++) {
    const name = any(['p0', 'p1', 'p2', 'p3'])
    const key = keyIn(any(namespaces), name)
    const found = await pods.get(key, consistent)
    const next = pod(name, n, any(['', 'x', 'y']), any(['', 'n1', 'n2']))
    if (found === undefined) await pods.create(key, next)
    else if (random() < 0.3) await pods.delete(found)
    else await pods.update(found, next)
  }
}

const decoded = (value: { value: Buffer } | undefined): KubeObject | undefined =>
  value && JSON.parse(String(value.value))

/** What a watcher of the view sees of these changes. */
const eventsOf = (history: readonly StorageEvent[], { shows }: View): string[] =>
  history.flatMap(({ key, revision, value, previous }) => {
    const [now, before] = [decoded(value), decoded(previous)]
    const is = now !== undefined && shows(key, now)
    const was = before !== undefined && shows(key, before)
    if (is) return [`${revision} ${was ? 'MODIFIED' : 'ADDED'} ${key} ${now.spec.n}`]
    return was ? [`${revision} DELETED ${key} ${before.spec.n}`] : []
  })

const names = (items: readonly { key: string }[]) => items.map(({ key }) => key)

/** What a watch of the view sees until the pod whose `n` says that it is the last. */
const watchToEnd = (pods: ObjectStorage, { selection }: View, after: number) =>
  batches(pods, { selection, after }, (some) =>
    some.at(-1)!.events.some(({ stored }) => stored.object.spec.n === 'end'),
  )

/** All pages of a list. */
const listInPages = async (
  pods: ObjectStorage,
  selection: Selection,
  limit: number,
): Promise<string[]> => {
  const found: string[] = []
  let startKey: string | undefined
  let consistency: ReadConsistency = consistent
  do {
    const page = await pods.list({ selection, consistency, limit, startKey })
    found.push(...names(page.items))
    consistency = { kind: 'exact', revision: page.revision }
    startKey = page.nextKey
  } while (startKey !== undefined)
  return found
}

export const runObjectStorageCases = (t: Test, fixture: ObjectStorageFixture): Promise<unknown> =>
  t.test(`object storage, ${fixture.name}: every view`, async (t) => {
    await everyView(t, fixture)
    await lists(t, fixture)
    await watches(t, fixture)
  })

const everyView = (t: Test, { open }: ObjectStorageFixture) =>
  t.test(
    'RunTestNamespaceScopedList, RunTestClusterScopedWatch, RunTestNamespaceScopedWatch',
    async (t) => {
      const { driver, pods } = await open(t)
      const { revision: start } = await pods.list({
        selection: { prefix },
        consistency: consistent,
        limit: 0,
      })
      const all = views()
      const last = pod('p1', 'end', 'y', 'n1')
      const live = new Map(
        all
          .filter((view) => view.shows(keyIn('d1', 'p1'), last))
          .map((view) => [view, watchToEnd(pods, view, start)]),
      )
      await churn(pods, 80, seededRandom(7))
      let end = 0
      // Every view sees the end, and so does nobody before it.
      for (const namespace of namespaces)
        for (const app of ['x', 'y']) {
          const key = keyIn(namespace, 'p1')
          const found = await pods.get(key, consistent)
          const next = namespace === 'd1' && app === 'y' ? last : pod('p1', 0, app, 'n1')
          const written = found === undefined ? pods.create(key, next) : pods.update(found, next)
          end = (await written).revision
        }
      const history = await historyUpTo(driver, { prefix, after: start, end })
      for (const view of all) {
        const wanted = eventsOf(history, view)
        const { selection } = view
        const seen = await (live.get(view) ??
          batches(pods, { selection, after: start }, (some) => {
            return some.flatMap(({ events }) => events).length >= wanted.length
          }))
        t.same(lines(seen), wanted, JSON.stringify(selection))
      }
      const { kvs } = await driver.range({ prefix })
      for (const view of all) {
        const wanted = names(kvs.filter((kv) => view.shows(kv.key, decoded(kv)!)))
        for (const limit of [0, 1, 3])
          t.same(await listInPages(pods, view.selection, limit), wanted, `in pages of ${limit}`)
      }
    },
  )

const lists = async (t: Test, { open }: ObjectStorageFixture) => {
  await t.test('RunTestGetListNonRecursive, RunTestGet: one name, now and then', async (t) => {
    const { pods } = await open(t)
    const key = keyIn('d', 'a')
    const other = await pods.create(keyIn('d', 'b'), pod('b', 0))
    const one = await pods.create(key, pod('a', 1))
    const two = await pods.update(one, pod('a', 2))
    const gone = await pods.delete(two)
    const shown = async (consistency: ReadConsistency, selection: Selection = { prefix, key }) => {
      const { items, nextKey } = await pods.list({ selection, consistency, limit: 1 })
      t.equal(nextKey, undefined, 'there is no second page')
      return items.map(({ object }) => object.spec.n)
    }
    const at = (revision: number) => ({ kind: 'exact', revision }) as const
    const since = (revision: number) => ({ kind: 'notOlderThan', revision }) as const
    t.same(await shown(at(other.revision)), [])
    t.same(await shown(at(one.revision)), [1])
    t.same(await shown(at(two.revision)), [2])
    const nobody = { prefix, key, matches: () => false }
    t.same(await shown(at(two.revision), nobody), [])
    for (const consistency of [consistent, { kind: 'any' } as const, since(gone.revision)]) {
      t.same(await shown(consistency), [])
      t.equal(await pods.get(key, consistency), undefined)
    }
    const again = await pods.create(key, pod('a', 3))
    for (const consistency of [consistent, since(one.revision), since(again.revision)]) {
      t.same(await shown(consistency), [3])
      t.equal((await pods.get(key, consistency))?.revision, again.revision)
    }
  })

  await t.test('a compacted revision is gone, though no object has changed since', async (t) => {
    const { driver, pods } = await open(t)
    for (const name of ['a', 'b']) await pods.create(keyIn('d', name), pod(name, 1))
    const selection = { prefix }
    const page = await pods.list({ selection, consistency: consistent, limit: 1 })
    const another = { type: 'put', key: '/registry/other/a', value: Buffer.from('{}') } as const
    const { revision } = await driver.txn([], [another])
    await driver.compact(revision)
    const consistency = { kind: 'exact', revision: page.revision } as const
    const { nextKey: startKey } = page
    await t.rejects(async () => pods.list({ selection, consistency, limit: 1, startKey }), {
      code: 'Compacted',
    })
  })

  await t.test('RunTestListInconsistentContinuation: on with the newest state', async (t) => {
    const { driver, pods } = await open(t)
    for (const name of ['a', 'b', 'c', 'd']) await pods.create(keyIn('d', name), pod(name, 1))
    const selection = { prefix }
    const first = await pods.list({ selection, consistency: consistent, limit: 1 })
    const b = await pods.get(keyIn('d', 'b'), consistent)
    await pods.delete(b!)
    const c = await pods.get(keyIn('d', 'c'), consistent)
    const { revision } = await pods.update(c!, pod('c', 2))
    await driver.compact(revision)
    const consistency = { kind: 'exact', revision: first.revision } as const
    const { nextKey: startKey } = first
    await t.rejects(async () => pods.list({ selection, consistency, limit: 1, startKey }), {
      code: 'Compacted',
    })
    const rest = await pods.list({ selection, consistency: consistent, limit: 2, startKey })
    t.same(
      rest.items.map(({ key, object }) => [key, object.spec.n]),
      [
        [keyIn('d', 'c'), 2],
        [keyIn('d', 'd'), 1],
      ],
    )
    t.ok(rest.revision >= revision)
    t.equal(rest.nextKey, undefined)
  })

  await t.test('RunTestCreateWithTTL, RunTestGuaranteedUpdateWithTTL', async (t) => {
    const { pods } = await open(t)
    const short = { ttlSeconds: 3 }
    const isKept = async (): Promise<boolean> => {
      const kept = await pods.create(keyIn('d', 'kept'), pod('kept', 1), short)
      try {
        await pods.update(kept, pod('kept', 2))
        return true
      } catch (error) {
        if (!(error instanceof WriteConflict)) throw error
        return false
      }
    }
    // On a machine that stands still it is over before it is written anew.
    while (!(await isKept())) short.ttlSeconds *= 2
    const key = keyIn('d', 'short')
    const { revision } = await pods.create(key, pod('short', 1))
    const found = await pods.get(key, consistent)
    const last = await pods.update(found!, pod('short', 2), short)
    const seen = await batches(
      pods,
      { selection: { prefix }, after: revision },
      (some) => some.flatMap(({ events }) => events).length > 1,
    )
    const [changed, ended] = seen.flatMap(({ events }) => events)
    t.same([changed?.type, changed?.revision], ['MODIFIED', last.revision])
    t.match(lines(seen)[1], `DELETED ${key} 2`)
    t.ok(ended!.revision > last.revision)
    t.equal(await pods.get(key, consistent), undefined)
    t.ok(await pods.get(keyIn('d', 'kept'), consistent))
  })
}

const watches = async (t: Test, { open }: ObjectStorageFixture) => {
  await t.test('RunTestWatchContextCancel: nobody hears of what nobody asks for', async (t) => {
    const { pods } = await open(t)
    await pods.create(keyIn('d', 'a'), pod('a', 1))
    const selection = { prefix }
    for (const after of ['now', 'any', 1] as const) {
      const signal = AbortSignal.abort()
      for await (const batch of pods.watch({ selection, after, signal })) t.same(batch.events, [])
    }
    const ending = new AbortController()
    const ended = (async () => {
      for await (const _ of pods.watch({ selection, after: 'now', signal: ending.signal }));
    })()
    await pause(5)
    ending.abort()
    await ended
  })

  await t.test('RunTestWatcherTimeout: a watcher that does not read holds up nobody', async (t) => {
    const { pods } = await open(t)
    const selection = { prefix }
    const { revision: after } = await pods.list({ selection, consistency: consistent, limit: 0 })
    const options = { selection, after }
    const { signal } = new AbortController()
    const sleeper = pods.watch({ ...options, signal })[Symbol.asyncIterator]()
    const first = sleeper.next()
    const readers = [1, 2, 3].map(() =>
      batches(pods, options, (some) => some.flatMap(({ events }) => events).length >= 120),
    )
    const revisions: number[] = []
    for (let i = 0; i < 120; i++)
      revisions.push((await pods.create(keyIn('d', `p${i}`), pod(`p${i}`, i))).revision)
    for (const reader of readers)
      t.same(
        (await reader).flatMap(({ events }) => events.map(({ revision }) => revision)),
        revisions,
      )
    const slept: number[] = []
    const take = ({ value }: { value: ObjectEventBatch }) =>
      void slept.push(...value.events.map(({ revision }) => revision))
    take(await first)
    while (slept.length < 120) take(await sleeper.next())
    t.same(slept, revisions)
    await sleeper.return?.()
  })

  await t.test('RunWatchSemantics, RunWatchListMatchSingle: the state first or not', async (t) => {
    const { pods, driver } = await open(t)
    const created: StoredObject[] = []
    for (const name of ['a', 'b', 'c'])
      created.push(await pods.create(keyIn('d', name), pod(name, 1)))
    const [first, , last] = created.map(({ revision }) => revision)
    const state = (from: number) =>
      created.slice(from).map(({ key, revision }) => `${revision} ADDED ${key} 1`)
    const cases: [Omit<ObjectWatchOptions, 'signal' | 'selection'>, string[]][] = [
      [{ after: 'now', sendInitialEvents: true }, state(0)],
      [{ after: 'any', sendInitialEvents: true }, state(0)],
      [{ after: first!, sendInitialEvents: true }, state(0)],
      [{ after: last!, sendInitialEvents: true }, state(0)],
      [{ after: 'now' }, []],
      [{ after: 'any' }, state(0)],
      [{ after: first! }, state(1)],
      [{ after: last! }, []],
    ]
    const begun = new Set<object>()
    const watching = cases.map(async ([options, begin]) => {
      const seen = await batches(pods, { ...options, selection: { prefix } }, (some) => {
        const told = some.flatMap(({ events }) => events).length
        if (told === begin.length) begun.add(options)
        return told >= begin.length + 2
      })
      return { seen, options, begin }
    })
    const one = batches(
      pods,
      { selection: { prefix, key: keyIn('d', 'b') }, after: 'now', sendInitialEvents: true },
      (some) => some.some(({ initialEventsEnd }) => initialEventsEnd === true),
    )
    t.same(lines(await one), state(1).slice(0, 1))
    const hasBegun = ([options, begin]: (typeof cases)[number]) =>
      begin.length === 0 || begun.has(options)
    await eventually('the state', () => cases.every(hasBegun))
    let isOver = false
    const watched = Promise.all(watching).finally(() => {
      isOver = true
    })
    const later: string[] = []
    for (let n = 0; !isOver; n++) {
      const { key, revision } = await pods.create(keyIn('d', `later-${n}`), pod(`later-${n}`, 1))
      later.push(`${revision} ADDED ${key} 1`)
      await pause(20)
    }
    for (const { seen, options, begin } of await watched) {
      const shown = lines(seen)
      // A watch from now on a store that others share begins once that is asked: any of these may be its first.
      const isLate = driver.shared && options.after === 'now' && !options.sendInitialEvents
      const first = isLate ? later.indexOf(shown[0]!) : 0
      const told = shown.length - begin.length
      t.same(shown, [...begin, ...later.slice(first, first + told)], JSON.stringify(options))
      const ends = seen.filter(({ initialEventsEnd }) => initialEventsEnd === true)
      t.equal(ends.length, options.sendInitialEvents === true ? 1 : 0)
      const before = seen.slice(0, seen.indexOf(ends[0]!))
      if (ends[0] !== undefined) {
        t.same(lines(before), begin, 'the end comes after the state and before what follows')
        t.ok(ends[0].revision >= last!)
      }
    }
  })
}
