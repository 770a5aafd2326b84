/** What the watch cache remembers of the past, and who waits for what is to come. */
import t from 'tap'
import { History } from '#cacher/history.js'
import { Progress } from '#cacher/progress.js'
import type { ResourceCache } from '#cacher/resource-cache.js'
import type { Change } from '#cacher/watch-event.js'
import { limits } from '#limits'
import { StorageError } from '#storage/driver.js'

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

t.test('who waits for a revision is told when it is there, or that it does not come', async (t) => {
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
