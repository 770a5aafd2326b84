/** What stands in front of the storage of custom resources keeps what every object storage promises. */
import t, { type Test } from 'tap'
import { systemClock } from '#api/clock.js'
import type { KubeObject } from '#api/object.js'
import { makeCacher } from '#cacher/cacher.js'
import type { ObjectStorage } from '#cacher/object-storage.js'
import { ConvertedStorage } from '#crd/converted-storage.js'
import { ShownStorage } from '#crd/shown-storage.js'
import { cloneJson } from '#json/object.js'
import { openStorage } from '#storage/open.js'
import { runObjectStorageCases } from '../cacher/object-storage-cases.js'
import {
  fields,
  keyOf,
  pod,
  prefix,
  runObjectStorageSuite,
} from '../cacher/object-storage-suite.js'

// A cacher's timers keep no process alive.
const alive = setInterval(() => {}, 1_000)
t.teardown(() => clearInterval(alive))

const open = async (t: Test) => {
  const driver = await openStorage('memory:', { clock: systemClock })
  const cacher = await makeCacher({ driver, clock: systemClock })
  t.teardown(async () => {
    await cacher.close()
    await driver.close()
  })
  return { driver, pods: cacher.forResource({ prefix, fields }) }
}

const copied = async (object: KubeObject): Promise<KubeObject> => cloneJson(object)
const conversion = { isNominal: false, convert: copied, toStorage: copied, fromStorage: copied }

/** Nothing is as it is stored, and all of it looks so. */
const wrappers: Record<string, (storage: ObjectStorage) => ObjectStorage> = {
  'shown by a schema': (storage) => new ShownStorage(storage, cloneJson),
  converted: (storage) => new ConvertedStorage(storage, conversion, { prefix, typeName: '' }),
}

for (const [name, wrap] of Object.entries(wrappers)) {
  const fixture = {
    name,
    open: async (t: Test) => {
      const { driver, pods } = await open(t)
      return { driver, pods: wrap(pods) }
    },
  }
  t.test(name, async (t) => {
    await runObjectStorageSuite(t, fixture)
    await runObjectStorageCases(t, fixture)
  })
}

t.test("a watch from 'now' of what a schema shows begins when it is asked for", async (t) => {
  const { pods } = await open(t)
  const shown = new ShownStorage(pods, cloneJson)
  const stop = new AbortController()
  t.teardown(() => stop.abort())
  const watch = shown.watch({ selection: { prefix }, after: 'now', signal: stop.signal })
  await shown.create(keyOf('a'), pod('a', 1))
  const { value } = await watch[Symbol.asyncIterator]().next()
  t.match(value.events, [{ type: 'ADDED', stored: { object: { metadata: { name: 'a' } } } }])
})

t.test('a store that is away when a converted one is made only fails its readers', async (t) => {
  const { pods } = await open(t)
  let isAway = true
  const list: ObjectStorage['list'] = (options) =>
    isAway ? Promise.reject(new Error('the store is away')) : pods.list(options)
  const store: ObjectStorage = Object.create(pods, { list: { value: list } })
  const storage = new ConvertedStorage(store, conversion, { prefix, typeName: '' })
  const all = { selection: { prefix }, consistency: { kind: 'any' }, limit: 0 } as const
  await t.rejects(storage.list(all), { message: 'the store is away' })
  isAway = false
  t.strictSame((await storage.list(all)).items, [])
})
