import fc from 'fast-check'
import t, { type Test } from 'tap'
import { systemClock } from '#api/clock.js'
import { nextTurn } from '#async/turns.js'
import { makeCacher } from '#cacher/cacher.js'
import { type Encoded, encodeObject, labelsOf, withRevision } from '#cacher/object-bytes.js'
import { type ObjectStorage, type StoredObject, WriteConflict } from '#cacher/object-storage.js'
import { ResourceCache } from '#cacher/resource-cache.js'
import { makeWorkingSets, StoredVersion } from '#cacher/stored-version.js'
import { Change } from '#cacher/watch-event.js'
import { Watcher } from '#cacher/watcher.js'
import { limits } from '#limits'
import type { StorageDriver, StorageEvent } from '#storage/driver.js'
import { openStorage } from '#storage/open.js'
import { SortedMap } from '#storage/sorted-map.js'
import { leftAtSignal } from '../async/left-at-signal.js'
import { temporaryDirectory } from '../storage/level-fixture.js'
import { take } from '../storage/suite.js'
import { directObjectStorage } from './direct-object-storage.js'
import { runObjectStorageCases } from './object-storage-cases.js'
import {
  batches,
  fields,
  keyOf,
  labelled,
  lines,
  type ObjectStorageFixture,
  pod,
  prefix,
  runObjectStorageSuite,
} from './object-storage-suite.js'
import { expectedEvents, type View } from './watch-oracle.js'

// A cacher's timers keep no process alive.
const alive = setInterval(() => {}, 1_000)
t.teardown(() => clearInterval(alive))

const start = async (t: Test, now?: () => number) => {
  const clock = now === undefined ? systemClock : { now }
  const driver = await openStorage('memory:', { clock })
  const cacher = await makeCacher({ driver, clock })
  const pods = cacher.forResource({ prefix, fields })
  t.teardown(async () => {
    await cacher.close()
    await driver.close()
  })
  return { driver, cacher, pods }
}

t.test('in tests, readers cannot change what the cache holds', async (t) => {
  const { pods } = await start(t)
  const created = await pods.create(keyOf('a'), pod('a', 1))
  for (const { object } of [created, (await pods.get(keyOf('a'), { kind: 'any' }))!])
    t.throws(() => {
      object.metadata.labels = { other: 'one' }
    }, TypeError)
})

for (const scheme of ['memory', 'level']) {
  const openDriver = async (t: Test) => {
    const url = scheme === 'memory' ? 'memory:' : `level:${temporaryDirectory(t)}`
    const driver = await openStorage(url, { clock: systemClock })
    t.teardown(() => driver.close())
    return driver
  }
  for (const isCached of [true, false]) {
    const fixture: ObjectStorageFixture = {
      name: `${isCached ? 'cached' : 'direct'} over ${scheme}`,
      open: async (t) => {
        const driver = await openDriver(t)
        if (!isCached) return { driver, pods: directObjectStorage(driver) }
        const cacher = await makeCacher({ driver, clock: systemClock })
        t.teardown(() => cacher.close())
        return { driver, pods: cacher.forResource({ prefix, fields }) }
      },
    }
    await runObjectStorageSuite(t, fixture)
    await runObjectStorageCases(t, fixture)
  }
}

t.test('the last state of an object that goes is the one before, not decoded anew', async (t) => {
  const { pods } = await start(t)
  const created = await pods.create(keyOf('a'), pod('a', 1))
  const last = await pods.delete(created)
  const { metadata, spec } = created.object
  t.equal(last.object.spec, spec)
  const resourceVersion = String(last.revision)
  t.same(last.object, { ...created.object, metadata: { ...metadata, resourceVersion } })
  t.same(JSON.parse(String(last.text)), last.object)
})

t.test('JSON is written once, with resourceVersion where upstream has it', async (t) => {
  const object = {
    ...pod('a', 1, 'x'),
    metadata: { labels: { app: 'x' }, uid: 'u', name: 'a', generation: 2 },
    data: JSON.parse('{"__proto__":1,"big":0}'),
  }
  object.data.big = 2n ** 62n
  t.equal(
    String(withRevision(encodeObject(object).value, 7)),
    '{"kind":"Pod","apiVersion":"v1","metadata":{"name":"a","uid":"u","resourceVersion":"7",' +
      '"generation":2,"labels":{"app":"x"}},"spec":{"n":1},"data":{"__proto__":1,"big":4611686018427387904}}',
  )
  const name = 'ü'.repeat(limits.beginningBytesMax)
  t.equal(
    String(withRevision(encodeObject({ ...object, metadata: { name, generation: 2 } }).value, 7)),
    `{"kind":"Pod","apiVersion":"v1","metadata":{"name":"${name}","resourceVersion":"7",` +
      '"generation":2},"spec":{"n":1},"data":{"__proto__":1,"big":4611686018427387904}}',
  )
  const bare = { kind: 'X', apiVersion: 'v1', metadata: {} }
  t.equal(
    String(withRevision(encodeObject(bare).value, 7)),
    '{"kind":"X","apiVersion":"v1","metadata":{"resourceVersion":"7"}}',
  )
  const foreign = Buffer.from('{"apiVersion":"v1","kind":"X","metadata":{"uid":"u","name":"ü"}}')
  t.equal(
    String(withRevision(foreign, 7)),
    '{"kind":"X","apiVersion":"v1","metadata":{"name":"ü","uid":"u","resourceVersion":"7"}}',
  )
})

t.test('what one version leaves to the next has the same bytes in both', async (t) => {
  const part = fc.record({
    texts: fc.array(fc.oneof(fc.string(), fc.string({ unit: 'binary' })), { maxLength: 60 }),
    padding: fc.constantFrom('', 'x'.repeat(300), 'ü'.repeat(9_000), 'x'.repeat(9_000)),
  })
  const text = fc.string({ unit: 'grapheme' })
  const version = fc.record({ spec: fc.nat(3), status: fc.nat(3), annotation: text })
  const property = fc.property(
    fc.array(part, { minLength: 4, maxLength: 4 }),
    fc.array(version, { minLength: 2, maxLength: 6 }),
    (parts, versions) => {
      let before: Encoded | undefined
      return versions.every(({ spec, status, annotation }) => {
        const object = {
          kind: 'X',
          apiVersion: 'v1',
          metadata: { name: 'a', annotations: { annotation } },
          ...{ spec: parts[spec]!, count: spec, status: parts[status]! },
        }
        before = encodeObject(object, before)
        const { value, revisionAt } = before
        return (
          value.equals(encodeObject(structuredClone(object)).value) &&
          String(withRevision(value, 7, revisionAt)) === String(withRevision(value, 7))
        )
      })
    },
  )
  fc.assert(property, { numRuns: 300 })
  t.pass()
})

t.test('labels are read from the bytes as the decoder would read them', async (t) => {
  const text = fc.stringMatching(/^[A-Za-z0-9][-A-Za-z0-9_./]{0,30}$/)
  const metadata = fc.record(
    {
      // Names of RBAC have no bound.
      name: fc.oneof(
        fc.string(),
        fc.nat(limits.beginningBytesMax).map((n) => 'x'.repeat(n)),
      ),
      uid: text,
      generation: fc.nat(),
      creationTimestamp: fc.constantFrom('2026-01-01T00:00:00Z', null),
      deletionTimestamp: fc.constant('2026-01-01T00:00:00Z'),
      deletionGracePeriodSeconds: fc.integer(),
      labels: fc.dictionary(text, text, { maxKeys: 90 }),
      annotations: fc.dictionary(text, fc.constantFrom('"labels":{"a":"b"}', '}')),
    },
    { requiredKeys: [] },
  )
  let read = 0
  const property = fc.property(metadata, (metadata) => {
    const object = { kind: 'X', apiVersion: 'v1', metadata, spec: { labels: { no: 'no' } } }
    const labels = labelsOf(encodeObject(object).value)
    if (labels === undefined) return true
    read++
    return JSON.stringify(labels) === JSON.stringify(metadata.labels ?? {})
  })
  fc.assert(property, { numRuns: 300 })
  t.ok(read > 150, `${read} read without the decoder`)
})

t.test('watchers of one view share their batches; a bookmark comes when it is due', async (t) => {
  let now = 1_000_000
  const { pods } = await start(t, () => now)
  const watch = () =>
    batches(pods, { selection: { prefix }, after: 'now' }, (all) => all.length > 1)
  const both = [watch(), watch()]
  await Promise.all([1, 2, 3].map((n) => pods.create(keyOf(`p${n}`), pod(`p${n}`, n))))
  await new Promise((resolve) => setTimeout(resolve, 20))
  now += 61_000
  const [one, other] = await Promise.all(both)
  t.equal(one![0]!.events.length, 3, 'all that was ready came together')
  t.equal(one![0], other![0])
  t.same(one![1], { revision: pods.currentRevision(), events: [] })
})

t.test('the size of a resource follows what is written to it', async (t) => {
  const { driver, cacher, pods } = await start(t)
  const sized = async () => {
    const { kvs } = await driver.range({ prefix })
    const bytes = kvs.reduce((sum, { value }) => sum + value.length, 0)
    t.same(cacher.sizeOf(prefix), { objects: kvs.length, bytes })
    return bytes
  }
  t.equal(await sized(), 0)
  const created = await pods.create(keyOf('a'), pod('a', 1))
  await pods.create(keyOf('b'), pod('b', 1))
  const before = await sized()
  const updated = await pods.update(created, pod('a', 1_000_000))
  t.ok((await sized()) > before)
  await pods.delete(updated)
  t.ok((await sized()) > 0)
})

t.test('a writer is answered before watchers are told', async (t) => {
  const { pods } = await start(t)
  const order: string[] = []
  const watched = batches(pods, { selection: { prefix }, after: 'now' }, () => {
    order.push('told')
    return true
  })
  const written = [1, 2, 3].map(async (n) => {
    await pods.create(keyOf(`p${n}`), pod(`p${n}`, n))
    await nextTurn()
    order.push('answered')
  })
  await Promise.all([watched, ...written])
  t.same(order, ['answered', 'answered', 'answered', 'told'])
})

/** A watcher by itself, whose store has come as far as `state` says. */
const loneWatcher = (t: Test, cache: ResourceCache, state: { applied: number }): Watcher =>
  new Watcher(
    {
      cache,
      applied: () => state.applied,
      now: () => 0,
      failure: () => undefined,
      prepare: async () => {},
      cold: () => t.fail('there is no history') as never,
    },
    { selection: { prefix }, after: 'now', signal: new AbortController().signal },
  )

t.test('a bookmark that is due does not pass over what has just come', async (t) => {
  const version = new StoredVersion(
    keyOf('a'),
    encodeObject(pod('a', 1)).value,
    1,
    makeWorkingSets(1),
  )
  const cache = new ResourceCache(prefix, {}, 0, new SortedMap())
  const state = { applied: 0 }
  const watcher = loneWatcher(t, cache, state)
  const next = watcher.next()
  cache.apply(new Change(1, version, undefined))
  state.applied = 1
  watcher.bookmark(1e9)
  t.equal((await next).value.events.length, 1)
})

t.test('no bookmark tells of the version that a watch began with', async (t) => {
  const state = { applied: 7 }
  const watcher = loneWatcher(t, new ResourceCache(prefix, {}, 0, new SortedMap()), state)
  const next = watcher.next()
  watcher.bookmark(1e9)
  state.applied = 8
  watcher.bookmark(1e9)
  t.same((await next).value, { revision: 8, events: [] })
})

t.test(
  'resources register late, share a group folder, and close with their watchers',
  async (t) => {
    const { driver, cacher, pods } = await start(t)
    const write = async (key: string, n: number) => {
      const value = encodeObject(pod('x', n)).value
      return driver.txn([], [{ type: 'put', key, value }])
    }
    const before = cacher.currentRevision()
    await write('/registry/example.com/widgets/d/x', 1)
    await write('/registry/example.com/gadgets/d/x', 2)
    const last = await write('/registry/example.com/widgets/d/x', 3)
    const selection = { prefix: '/registry/example.com/widgets/' }
    const widgets = cacher.forResource(selection)
    t.equal(cacher.forResource(selection), widgets)
    await widgets.list({
      selection,
      consistency: { kind: 'notOlderThan', revision: last.revision },
      limit: 0,
    })
    const history = await batches(
      widgets,
      { selection, after: before },
      (all) => lines(all).length > 1,
    )
    t.same(
      lines(history).map((line) => line.slice(2)),
      ['ADDED /registry/example.com/widgets/d/x 1', 'MODIFIED /registry/example.com/widgets/d/x 3'],
      'history from before it was registered',
    )
    const { signal } = new AbortController()
    const watch = pods.watch({ selection: { prefix }, after: 'now', signal })
    const next = watch[Symbol.asyncIterator]().next()
    await cacher.close()
    await t.rejects(next, { code: 'Closed' })
    t.equal(leftAtSignal(signal), 0)
  },
)

/** Random writes through the storage, some of them at once. */
const churn = async (pods: ObjectStorage, steps: readonly [number, number, number][]) => {
  let n = 0
  const one = async ([name, app, kind]: [number, number, number]) => {
    const key = keyOf(`p${name}`)
    const next = pod(`p${name}`, n++, ['', 'x', 'y'][app])
    const found = await pods.get(key, { kind: 'any' })
    if (found === undefined) await pods.create(key, next).catch(ignoreConflict)
    else if (kind === 0) await pods.delete(found).catch(ignoreConflict)
    else await pods.update(found, next).catch(ignoreConflict)
  }
  for (let i = 0; i < steps.length; i += 4) await Promise.all(steps.slice(i, i + 4).map(one))
}

const ignoreConflict = (error: unknown) => {
  if (!(error instanceof WriteConflict)) throw error
}

/** Watches `view` and breaks off after every few events, resuming at the last revision, until `end`. */
const watchInPieces = async (pods: ObjectStorage, view: View, piece: number, end: () => number) => {
  const seen: string[] = []
  let after = 1
  const selection = view.label === undefined ? { prefix: view.prefix } : labelled(view.label)
  while (after < end()) {
    const { signal } = new AbortController()
    let events = 0
    for await (const batch of pods.watch({ selection, after, signal })) {
      seen.push(...lines([batch]))
      after = batch.revision
      events += batch.events.length
      if (events >= piece || after >= end()) break
    }
  }
  return seen
}

const wholeHistory = (driver: StorageDriver): Promise<StorageEvent[]> =>
  take(driver, { prefix: '/registry/', after: driver.compactedRevision() }, 0)

t.test('watch guarantees: ordered, unique, complete, resumable, for every view', async (t) => {
  const steps = fc.array(fc.tuple(fc.nat(6), fc.nat(2), fc.nat(3)), {
    minLength: 20,
    maxLength: 120,
  })
  const property = fc.asyncProperty(steps, fc.integer({ min: 1, max: 9 }), async (steps, piece) => {
    const driver = await openStorage('memory:', { clock: systemClock })
    const cacher = await makeCacher({ driver, clock: systemClock })
    const pods = cacher.forResource({ prefix })
    let end = Number.POSITIVE_INFINITY
    const views: View[] = [{ prefix }, { prefix, label: 'x' }, { prefix, label: 'y' }]
    try {
      const streams = views.map((view) => watchInPieces(pods, view, piece, () => end))
      await churn(pods, steps)
      // Every view sees the last event: it leaves one label for the other.
      const key = keyOf('last')
      const first = await pods.create(key, pod('last', -1, 'x'))
      const last = await pods.update(first, pod('last', -2, 'y'))
      end = last.revision
      const history = await wholeHistory(driver)
      for (const [index, view] of views.entries()) {
        const seen = await streams[index]!
        const wanted = expectedEvents(history, view, 1)
        if (seen.join('\n') !== wanted.join('\n')) {
          throw new Error(`${view.label}: ${seen.join('; ')} instead of ${wanted.join('; ')}`)
        }
      }
    } finally {
      await cacher.close()
      await driver.close()
    }
  })
  await t.resolves(fc.assert(property, { numRuns: 15 }))
})

t.test('an index is made of all objects without pushing out the decoded ones', async (t) => {
  const values = [1, 2, 3].map((n) => encodeObject(pod(`p${n}`, n)).value)
  const sets = makeWorkingSets(values[0]!.length + 1)
  const versions = values.map((value, n) => new StoredVersion(keyOf(`p${n}`), value, n + 1, sets))
  const cache = new ResourceCache(prefix, fields, 0, new SortedMap())
  for (const version of versions) cache.load(version)
  const [inUse] = versions
  const { object } = inUse!
  await cache.prepare({ prefix, fieldEquals: new Map([['spec.nodeName', 'a']]) })
  t.equal(inUse!.object, object)
})

t.test('what is written while an index is made is in it as it was written last', async (t) => {
  const sets = makeWorkingSets(1)
  let revision = 0
  const version = (n: number, label: string) =>
    new StoredVersion(keyOf(`p${n}`), encodeObject(pod(`p${n}`, n, label)).value, ++revision, sets)
  const cache = new ResourceCache(prefix, {}, 0, new SortedMap())
  const count = 20_000
  const before = Array.from({ length: count }, (_, n) => version(n, 'x'))
  for (const one of before) cache.load(one)
  const matches = ({ labels }: StoredObject) => labels?.app === 'x'
  const selection = { prefix, labelEquals: new Map([['app', 'x']]), matches }
  const making = cache.prepare(selection)
  t.ok(making, 'there is something to wait for')
  const change = (n: number, current: StoredVersion | undefined) =>
    cache.apply(new Change(++revision, current, before[n]))
  for (const n of [0, 1, count - 1]) change(n, version(n, 'y'))
  for (const n of [2, count - 2]) change(n, undefined)
  change(count, version(count, 'x'))
  const slow = await cache.selectInTurns(selection, '', 0)
  await making
  t.equal(cache.prepare(selection), undefined)
  const indexed = cache.select(selection, '', 0)
  t.equal(indexed.items.length, count - 4)
  const keys = indexed.items.map(({ key }) => key)
  t.equal(keys.join(), slow.items.map(({ key }) => key).join(), 'as without an index')
})
