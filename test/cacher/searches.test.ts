/** Searches through the objects of a resource: what a list or the beginning of a watch shows. */
import t, { type Test } from 'tap'
import { systemClock } from '#api/clock.js'
import { makeCacher } from '#cacher/cacher.js'
import type { ObjectStorage, StoredObject } from '#cacher/object-storage.js'
import { limits } from '#limits'
import { openStorage } from '#storage/open.js'
import { batches, fields, keyOf, pod, prefix } from './object-storage-suite.js'

// A cacher's timers keep no process alive.
const alive = setInterval(() => {}, 1_000)
t.teardown(() => clearInterval(alive))

const start = async (t: Test): Promise<ObjectStorage> => {
  const driver = await openStorage('memory:', { clock: systemClock })
  const cacher = await makeCacher({ driver, clock: systemClock })
  t.teardown(async () => {
    await cacher.close()
    await driver.close()
  })
  return cacher.forResource({ prefix, fields })
}

t.test('the search for the first events of a watch lets others have their turn', async (t) => {
  const pods = await start(t)
  for (const n of [1, 2]) await pods.create(keyOf(`p${n}`), pod(`p${n}`, n))
  const last = await pods.create(keyOf('p3'), pod('p3', 3))
  let turn = 0
  const count = (): void => {
    turn++
    counting = setImmediate(count)
  }
  let counting = setImmediate(count)
  t.teardown(() => clearImmediate(counting))
  const turns: number[] = []
  let written: Promise<StoredObject> | undefined
  const matches = (stored: StoredObject): boolean => {
    written ??= pods.update(last, pod('p3', 'later'))
    if (turns.length < 3) {
      const end = performance.now() + limits.turnMsMax
      while (performance.now() < end);
      turns.push(turn)
    }
    return stored.object.spec.n !== 2
  }
  const seen = await batches(
    pods,
    { selection: { prefix, matches }, after: 'any', sendInitialEvents: true },
    (all) => all.at(-1)!.events.some(({ type }) => type === 'MODIFIED'),
  )
  t.equal(new Set(turns).size, 3, 'each of three that took long had a turn of its own')
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
