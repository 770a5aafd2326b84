/** When who is refused is asked to come again. Seconds are the test's own. */
import t from 'tap'
import { DroppedRequests } from '#flowcontrol/dropped-requests.js'

t.test(
  'the more are refused, the later, up to a bound; and sooner again when few are',
  async (t) => {
    const dropped = new DroppedRequests()
    let now = 1_000_000
    const second = (count: number): number => {
      now += 1_000
      let last = 0
      for (let i = 0; i < count; i++) last = dropped.record('busy', now)
      return last
    }
    t.equal(second(2), 1)
    t.same([second(2), second(2)], [1, 1], 'fewer than three a second')
    t.equal(second(10), 1, 'of this second nobody knows yet')
    t.equal(second(10), 2)
    t.equal(second(10), 2, 'not again before those have come')
    t.equal(second(10), 4)
    let highest = 0
    for (let i = 0; i < 100; i++) highest = Math.max(highest, second(200))
    t.equal(highest, 32)
    t.equal(dropped.record('idle', now), 1, 'a level by itself')
    now += 60_000
    t.equal(second(1), 31)
    now += 60_000
    t.equal(second(1), 30)
  },
)
