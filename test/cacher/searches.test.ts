/** Searches through the objects of a resource and its history: what a list or the beginning of a watch shows. */
import t, { type Test } from 'tap'
import { systemClock } from '#api/clock.js'
import type { KubeObject } from '#api/object.js'
import { nextTurn } from '#async/turns.js'
import { makeCacher } from '#cacher/cacher.js'
import { changesOf, watchDriver } from '#cacher/direct-storage.js'
import type { ObjectStorage, StoredObject } from '#cacher/object-storage.js'
import type { SelectableFields } from '#cacher/resource-indexes.js'
import { makeWorkingSets } from '#cacher/stored-version.js'
import { limits } from '#limits'
import { openStorage } from '#storage/open.js'
import { turnsOf } from '../turns-of.js'
import { batches, fields, keyOf, pod, prefix } from './object-storage-suite.js'

// A cacher's timers keep no process alive.
const alive = setInterval(() => {}, 1_000)
t.teardown(() => clearInterval(alive))

/** Each of several over one store: what came before it is history that its cache does not hold. */
const starter = async (t: Test) => {
  const driver = await openStorage('memory:', { clock: systemClock })
  t.teardown(() => driver.close())
  const open = async (selectable: SelectableFields = fields): Promise<ObjectStorage> => {
    const cacher = await makeCacher({ driver, clock: systemClock })
    t.teardown(() => cacher.close())
    return cacher.forResource({ prefix, fields: selectable })
  }
  return { driver, open }
}

const start = async (t: Test): Promise<ObjectStorage> => (await starter(t)).open()

t.test('the search for the first events of a watch lets others have their turn', async (t) => {
  const pods = await start(t)
  for (const n of [1, 2]) await pods.create(keyOf(`p${n}`), pod(`p${n}`, n))
  const last = await pods.create(keyOf('p3'), pod('p3', 3))
  const { spend, spent } = turnsOf(t)
  let written: Promise<StoredObject> | undefined
  const matches = (stored: StoredObject): boolean => {
    written ??= pods.update(last, pod('p3', 'later'))
    if (spent.length < 3) spend()
    return stored.object.spec.n !== 2
  }
  const seen = await batches(
    pods,
    { selection: { prefix, matches }, after: 'any', sendInitialEvents: true },
    (all) => all.at(-1)!.events.some(({ type }) => type === 'MODIFIED'),
  )
  t.equal(new Set(spent).size, 3, 'each of three that took long had a turn of its own')
  const shown = seen.flatMap(({ events, initialEventsEnd }) => [
    ...events.map(({ type, stored }) => `${type} ${stored.object.spec.n}`),
    ...(initialEventsEnd ? ['end'] : []),
  ])
  t.same(shown, ['ADDED 1', 'ADDED 3', 'end', 'MODIFIED later'], 'as it was when it began')
  await written
})

t.test('labels that clients ask for leave room for the indexes of fields', async (t) => {
  const pods = await start(t)
  for (const n of [1, 2, 3]) await pods.create(keyOf(`p${n}`), pod(`p${n}`, n, undefined, `n${n}`))
  const find = async (pair: object): Promise<number> => {
    let looked = 0
    const matches = (): boolean => {
      looked++
      return true
    }
    const selection = { prefix, matches, ...pair }
    await pods.list({ selection, consistency: { kind: 'any' }, limit: 0 })
    return looked
  }
  const label = (n: number) => ({ labelEquals: new Map([[`label-${n}`, 'x']]) })
  for (let n = 0; n < limits.labelIndexesMax; n++)
    if ((await find(label(n))) > 0) t.fail(`label ${n} has no index`)
  t.equal(await find(label(limits.labelIndexesMax)), 3, 'one label more has none')
  t.equal(await find({ fieldEquals: new Map([['spec.nodeName', 'n2']]) }), 1)
})

t.test('so does a watch that goes through history, in memory or in the store', async (t) => {
  const { open } = await starter(t)
  const first = await open()
  const after = first.currentRevision()
  for (const n of [1, 2, 3]) await first.create(keyOf(`p${n}`), pod(`p${n}`, n))
  for (const pods of [first, await open()]) {
    const { spend, spent } = turnsOf(t)
    const matches = ({ object }: StoredObject): boolean => {
      spend()
      return object.spec.n === 3
    }
    const [batch] = await batches(pods, { selection: { prefix, matches }, after }, () => true)
    t.same(
      batch!.events.map(({ type, stored }) => `${type} ${stored.object.spec.n}`),
      ['ADDED 3'],
    )
    t.ok(new Set(spent).size > 1)
  }
})

t.test('watchers of other nodes than those of the history learn that together', async (t) => {
  const { open } = await starter(t)
  let reads = 0
  const read = ({ spec }: KubeObject): string => {
    reads++
    return spec?.nodeName ?? ''
  }
  const first = await open({ 'spec.nodeName': read })
  const after = first.currentRevision()
  for (const n of [1, 2, 3]) await first.create(keyOf(`p${n}`), pod(`p${n}`, n, undefined, 'n1'))
  for (const pods of [first, await open({ 'spec.nodeName': read })]) {
    reads = 0
    let looked = 0
    const matches = (): boolean => {
      looked++
      return true
    }
    const fieldEquals = new Map([['spec.nodeName', 'n2']])
    const selection = { prefix, fieldEquals, matches }
    const watches = [1, 2, 3].map(() => batches(pods, { selection, after }, () => true))
    await nextTurn()
    await pods.create(keyOf(`at-${reads}`), pod(`at-${reads}`, 'last', undefined, 'n2'))
    for (const [batch] of await Promise.all(watches)) t.equal(batch!.events.length, 1)
    t.ok(reads <= 4, `${reads} reads of four changes`)
    t.equal(looked, 3)
  }
})

t.test('what is read of the history of the store is the same for all', async (t) => {
  const { driver, open } = await starter(t)
  const pods = await open()
  const after = pods.currentRevision()
  await pods.create(keyOf('a'), pod('a', 1))
  const changeOf = changesOf(makeWorkingSets(1))
  const { signal } = new AbortController()
  const read = async () => {
    const selection = { prefix, matches: () => true }
    for await (const batch of watchDriver(
      driver,
      { selection, after, signal },
      { changeOf, fields },
    ))
      return batch.events
    return undefined
  }
  const [one, other] = [await read(), await read()]
  t.equal(one!.length, 1)
  t.equal(one![0], other![0])
})
