/** What a queue's figures say at each step of its keys' lives. */
import t from 'tap'
import { QueueMetrics } from '#client/queue-metrics.js'
import { WorkQueue } from '#client/work-queue.js'
import type { HistogramFigures } from '#metrics/histogram.js'

t.test('a queue tells how many keys wait, for how long, and how long work takes', async (t) => {
  let nowMs = 0
  t.intercept(performance, 'now', { value: () => nowMs })
  const metrics = new QueueMetrics()
  const queue = new WorkQueue({ figures: metrics.of('pods') })
  t.teardown(() => queue.close())
  const readingOf = (name: string) =>
    metrics.families.find((family) => family.name === `workqueue_${name}`)!.values()[0]!.value
  const figures = () => ({
    adds: readingOf('adds_total'),
    depth: readingOf('depth'),
    retries: readingOf('retries_total'),
    unfinished: readingOf('unfinished_work_seconds'),
    longest: readingOf('longest_running_processor_seconds'),
  })
  const none = { adds: 0, depth: 0, retries: 0, unfinished: 0, longest: 0 }
  t.same(figures(), none)

  for (const key of ['a', 'a', 'b', 'c']) queue.add(key)
  t.same(figures(), { ...none, adds: 3, depth: 3 }, 'a key waits once')
  nowMs = 1_000
  await queue.take()
  nowMs = 3_000
  await queue.take()
  queue.add('a')
  t.same(
    figures(),
    { adds: 4, depth: 2, retries: 0, unfinished: 2, longest: 2 },
    'a key that is worked on may wait, too',
  )
  queue.done('a')
  queue.addRateLimited('b')
  t.same(figures(), { adds: 4, depth: 2, retries: 1, unfinished: 0, longest: 0 })
  queue.done('b')
  t.match(readingOf('queue_duration_seconds') as HistogramFigures, { count: 2, sum: 4 })
  t.match(readingOf('work_duration_seconds') as HistogramFigures, { count: 2, sum: 2 })
  t.same([await queue.take(), await queue.take()], ['c', 'a'])
  t.equal(readingOf('depth'), 0)
})

t.test('queues of one name are one series', async (t) => {
  const metrics = new QueueMetrics()
  const signing = new WorkQueue({ figures: metrics.of('certificate') })
  const approving = new WorkQueue({ figures: metrics.of('certificate') })
  signing.add('a')
  approving.add('a')
  await approving.take()
  for (const family of metrics.families.filter(({ type }) => type !== 'histogram'))
    t.equal(family.values().length, 1, family.name)
  const depth = metrics.families.find(({ name }) => name === 'workqueue_depth')!
  t.same(depth.values(), [{ labels: { name: 'certificate' }, value: 1 }])
})
