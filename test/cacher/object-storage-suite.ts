/**
 * What object storage must do, with a cache in front of the driver or without: the cases of upstream's
 * apiserver/pkg/storage/testing that its etcd3 store and its cacher share.
 */
import t, { type Test } from 'tap'
import type { KubeObject } from '#api/object.js'
import {
  type ObjectEventBatch,
  type ObjectStorage,
  type ObjectWatchOptions,
  type ReadConsistency,
  type Selection,
  WriteConflict,
} from '#cacher/object-storage.js'
import type { SelectableFields } from '#cacher/resource-indexes.js'
import type { StorageDriver } from '#storage/driver.js'
import { eventually } from '../eventually.js'

export const prefix = '/registry/pods/'
const consistent: ReadConsistency = { kind: 'consistent' }

export const pod = (
  name: string,
  n: number | string,
  app?: string,
  nodeName?: string,
): KubeObject => ({
  kind: 'Pod',
  apiVersion: 'v1',
  metadata: { name, namespace: 'd', uid: `uid-${name}`, ...(app && { labels: { app } }) },
  spec: { n, ...(nodeName && { nodeName }) },
})

/** What pods can be selected by. */
export const fields: SelectableFields = { 'spec.nodeName': (pod) => pod.spec?.nodeName ?? '' }

export const keyOf = (name: string) => `${prefix}d/${name}`

export const labelled = (app: string): Selection => ({
  prefix,
  labelEquals: new Map([['app', app]]),
  matches: (stored) => stored.object.metadata.labels?.app === app,
})

const names = (items: readonly { key: string }[]) => items.map(({ key }) => key.split('/').pop())

/** Batches of a watch until `enough` says so. */
export const batches = async (
  storage: ObjectStorage,
  options: Omit<ObjectWatchOptions, 'signal'>,
  enough: (batches: ObjectEventBatch[]) => boolean,
): Promise<ObjectEventBatch[]> => {
  const controller = new AbortController()
  const seen: ObjectEventBatch[] = []
  try {
    for await (const batch of storage.watch({ ...options, signal: controller.signal })) {
      seen.push(batch)
      if (enough(seen)) break
    }
  } finally {
    controller.abort()
  }
  return seen
}

export const lines = (seen: readonly ObjectEventBatch[]): string[] =>
  seen.flatMap(({ events }) =>
    events.map(({ type, stored, revision }) => {
      const shown = JSON.parse(String(stored.text)) as KubeObject
      t.equal(shown.metadata.resourceVersion, String(revision), 'the version shown is the event')
      return `${revision} ${type} ${stored.key} ${shown.spec.n}`
    }),
  )

export interface ObjectStorageFixture {
  readonly name: string
  open(t: Test): Promise<{ driver: StorageDriver; pods: ObjectStorage }>
}

export const runObjectStorageSuite = (t: Test, fixture: ObjectStorageFixture): Promise<unknown> =>
  t.test(`object storage, ${fixture.name}`, async (t) => {
    await writesAndLists(t, fixture)
    await watches(t, fixture)
  })

const writesAndLists = async (t: Test, { open }: ObjectStorageFixture) => {
  await t.test(
    'a write is read back at once, and only its expected version is replaced',
    async (t) => {
      const { pods } = await open(t)
      const first = await pods.create(keyOf('a'), pod('a', 1))
      t.equal(first.object.metadata.resourceVersion, String(first.revision))
      t.equal((await pods.get(keyOf('a'), consistent))!.revision, first.revision)
      await t.rejects(pods.create(keyOf('a'), pod('a', 2)), WriteConflict)
      const second = await pods.update(first, pod('a', 2))
      const refused = await pods.update(first, pod('a', 3)).catch((error) => error)
      t.ok(refused instanceof WriteConflict)
      t.equal(refused.current.revision, second.revision)
      await t.rejects(pods.delete(first), WriteConflict)
      const last = await pods.delete(second)
      t.match(JSON.parse(String(last.text)), {
        metadata: { resourceVersion: String(last.revision) },
        spec: { n: 2 },
      })
      t.equal(await pods.get(keyOf('a'), consistent), undefined)
      const gone = await pods.update(second, pod('a', 4)).catch((error) => error)
      t.equal(gone.current, undefined)
    },
  )

  await t.test('lists: order, pages with what remains, selectors, past revisions', async (t) => {
    const { driver, pods } = await open(t)
    for (const name of ['c', 'a', 'd', 'b', 'e']) {
      await pods.create(keyOf(name), pod(name, 1, name < 'c' ? 'x' : 'y', name === 'e' ? 'n1' : ''))
    }
    const at = pods.currentRevision()
    const page = (limit: number, startKey?: string, selection: Selection = { prefix }) =>
      pods.list({ selection, consistency: { kind: 'exact', revision: at }, limit, startKey })
    const first = await page(2)
    t.same(names(first.items), ['a', 'b'])
    t.equal(first.remaining, 3)
    await pods.delete((await pods.get(keyOf('c'), consistent))!)
    const second = await page(2, first.nextKey)
    t.same([names(second.items), second.revision], [['c', 'd'], at], 'the list shows one revision')
    t.equal(second.remaining, 1)
    const third = await page(2, second.nextKey)
    t.same([names(third.items), third.nextKey], [['e'], undefined])

    const now = (selection: Selection, limit = 0) =>
      pods.list({ selection, consistency: consistent, limit })
    t.same(names((await now(labelled('y'))).items), ['d', 'e'])
    const cut = await now(labelled('x'), 1)
    t.same([names(cut.items), cut.remaining], [['a'], undefined], 'unknown under a selector')
    const onNode: Selection = {
      prefix,
      fieldEquals: new Map([['spec.nodeName', 'n1']]),
      matches: ({ object }) => object.spec?.nodeName === 'n1',
    }
    t.same(names((await now(onNode)).items), ['e'])
    await pods.update((await pods.get(keyOf('d'), consistent))!, pod('d', 2, 'x', 'n1'))
    t.same(names((await now(labelled('x'))).items), ['a', 'b', 'd'], 'indexes follow')
    t.same(names((await now({ prefix: '/registry/pods/other/' })).items), [])

    await driver.compact(pods.currentRevision())
    await t.rejects(async () => page(2), { code: 'Compacted' })
    await t.rejects(
      async () =>
        pods.list({
          selection: { prefix },
          consistency: { kind: 'notOlderThan', revision: at + 1000 },
          limit: 0,
        }),
      { code: 'FutureRevision', revision: pods.currentRevision() },
    )
  })

  await t.test(
    'a list at a past revision is a list of then, whatever has happened since',
    async (t) => {
      const { pods } = await open(t)
      const model = new Map<number, string>()
      let state: string[] = []
      for (let i = 0; i < 60; i++) {
        const name = `p${(i * 7) % 11}`
        const found = await pods.get(keyOf(name), consistent)
        if (found === undefined) await pods.create(keyOf(name), pod(name, i))
        else if (i % 3 === 0) await pods.delete(found)
        else await pods.update(found, pod(name, i))
        const { items, revision } = await pods.list({
          selection: { prefix },
          consistency: consistent,
          limit: 0,
        })
        state = items.map(({ text }) => String(text))
        model.set(revision, state.join())
      }
      for (const [revision, wanted] of model) {
        const consistency = { kind: 'exact', revision } as const
        const { items } = await pods.list({ selection: { prefix }, consistency, limit: 0 })
        t.equal(items.map(({ text }) => String(text)).join(), wanted)
      }
    },
  )

  await t.test(
    'sendInitialEvents: the state, a batch that ends it, then what happens',
    async (t) => {
      const { pods } = await open(t)
      await pods.create(keyOf('a'), pod('a', 1))
      const b = await pods.create(keyOf('b'), pod('b', 1, 'x'))
      const options = { selection: labelled('x'), after: b.revision, sendInitialEvents: true }
      let told = 0
      const seen = batches(pods, options, (all) => {
        told = all.length
        return told === 3
      })
      await eventually('the state and its end', () => told === 2)
      const updated = await pods.update(b, pod('b', 2, 'y'))
      const [state, end, live] = await seen
      t.same(lines([state!]), [`${b.revision} ADDED ${keyOf('b')} 1`])
      t.equal(end!.initialEventsEnd, true)
      t.same(
        lines([live!]),
        [`${updated.revision} DELETED ${keyOf('b')} 1`],
        'it left the selection',
      )
      const future = { ...options, after: updated.revision + 99 }
      await t.rejects(
        batches(pods, future, () => true),
        { code: 'FutureRevision' },
      )
    },
  )
}

const watches = async (t: Test, { open }: ObjectStorageFixture) => {
  const change = async (pods: ObjectStorage) => {
    const a = await pods.create(keyOf('a'), pod('a', 1, 'x'))
    const b = await pods.create(keyOf('b'), pod('b', 1, 'y'))
    const a2 = await pods.update(a, pod('a', 2, 'y'))
    const b2 = await pods.delete(b)
    return { a, b, a2, b2 }
  }

  await t.test('RunTestWatch: what comes, what changes, and what leaves the view', async (t) => {
    const { pods } = await open(t)
    const before = (await pods.list({ selection: { prefix }, consistency: consistent, limit: 0 }))
      .revision
    const { a, b, a2, b2 } = await change(pods)
    const seen = async (selection: Selection, count: number) =>
      lines(await batches(pods, { selection, after: before }, (all) => lines(all).length >= count))
    const [ka, kb] = [keyOf('a'), keyOf('b')]
    t.same(await seen({ prefix }, 4), [
      `${a.revision} ADDED ${ka} 1`,
      `${b.revision} ADDED ${kb} 1`,
      `${a2.revision} MODIFIED ${ka} 2`,
      `${b2.revision} DELETED ${kb} 1`,
    ])
    t.same(await seen(labelled('x'), 2), [
      `${a.revision} ADDED ${ka} 1`,
      `${a2.revision} DELETED ${ka} 1`,
    ])
    t.same(await seen(labelled('y'), 3), [
      `${b.revision} ADDED ${kb} 1`,
      `${a2.revision} ADDED ${ka} 2`,
      `${b2.revision} DELETED ${kb} 1`,
    ])
  })

  await t.test('RunTestWatchFromZero: the state as additions, then what happens', async (t) => {
    const { pods } = await open(t)
    const { a2 } = await change(pods)
    let told = 0
    const seen = batches(pods, { selection: { prefix }, after: 'any' }, (all) => {
      told = lines(all).length
      return told > 1
    })
    await eventually('the state', () => told === 1)
    const c = await pods.create(keyOf('c'), pod('c', 1))
    t.same(lines(await seen), [
      `${a2.revision} ADDED ${keyOf('a')} 2`,
      `${c.revision} ADDED ${keyOf('c')} 1`,
    ])
  })

  await t.test('RunTestWatchFromNonZero: history goes on where it was left', async (t) => {
    const { pods } = await open(t)
    const { a, b, a2, b2 } = await change(pods)
    const revisions = [a, b, a2, b2].map(({ revision }) => revision)
    for (const [index, after] of revisions.slice(0, 3).entries()) {
      const rest = revisions.slice(index + 1)
      const seen = await batches(
        pods,
        { selection: { prefix }, after },
        (all) => lines(all).length >= rest.length,
      )
      t.same(
        seen.flatMap(({ events }) => events.map(({ revision }) => revision)),
        rest,
      )
    }
  })

  await t.test('RunTestListPaging: a page with one pod of many keys between', async (t) => {
    const { pods } = await open(t)
    for (let i = 0; i < 30; i++)
      await pods.create(keyOf(`p${i}`), pod(`p${i}`, i, i % 10 === 0 ? 'x' : 'y'))
    const found: string[] = []
    let startKey: string | undefined
    do {
      const page = await pods.list({
        selection: labelled('x'),
        consistency: consistent,
        limit: 1,
        startKey,
      })
      found.push(...names(page.items).map(String))
      startKey = page.nextKey
    } while (startKey !== undefined)
    t.same(found, ['p0', 'p10', 'p20'])
  })
}
