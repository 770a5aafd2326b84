/** How long a container that keeps ending waits (client-go, util/flowcontrol/backoff.go). */
import t from 'tap'
import { defaultBackoff, formatDuration, RestartBackoff } from '#kubelet/restart-backoff.js'

/** A container that runs for `ranMs` each time and is started as soon as it may be. */
const restarts = (count: number, ranMs: number): string[] => {
  const backoff = new RestartBackoff(defaultBackoff)
  const waits: string[] = []
  let now = 0
  for (let i = 0; i < count; i++) {
    const finishedAt = now + ranMs
    now = finishedAt
    const { waitMs, delayMs } = backoff.next('c', finishedAt, now)
    waits.push(formatDuration(waitMs))
    if (waitMs === 0) continue
    t.ok(backoff.next('c', finishedAt, now + waitMs - 1).waitMs > 0, 'not a moment sooner')
    t.ok(delayMs >= waitMs, 'it is told by how long it waits in all')
    now += waitMs
    t.equal(backoff.next('c', finishedAt, now).waitMs, 0)
  }
  return waits
}

t.test('each wait is twice the one before, up to five minutes', async (t) => {
  t.same(restarts(9, 0), ['0s', '10s', '20s', '40s', '1m20s', '2m40s', '5m0s', '5m0s', '5m0s'])
})

t.test('what it ran for counts towards its wait after the start before', async (t) => {
  const backoff = new RestartBackoff(defaultBackoff)
  backoff.next('c', 0, 0)
  t.equal(backoff.next('c', 4_000, 10_000).waitMs, 4_000, 'from its end on')
})

t.test(
  'a container that ran for ten minutes starts at once, and waits as at first after that',
  async (t) => {
    t.same(restarts(3, 600_001), ['0s', '0s', '0s'])
    t.same(restarts(3, 600_000), ['0s', '10s', '20s'])
  },
)

t.test('containers do not wait for each other', async (t) => {
  const backoff = new RestartBackoff(defaultBackoff)
  backoff.next('one', 0, 0)
  t.equal(backoff.next('other', 0, 0).waitMs, 0)
})

t.test('lengths are told as Go prints them', async (t) => {
  t.same([20, 999, 1_000, 61_000, 3_600_000, 3_725_000].map(formatDuration), [
    '20ms',
    '999ms',
    '1s',
    '1m1s',
    '1h0m0s',
    '1h2m5s',
  ])
})
