/** How often the server writes the condition of a flow schema. */
import t from 'tap'
import { WritePace } from '#server/flowcontrol/write-pace.js'

t.test(
  'a condition is written six times in a minute, and again when the first is a minute old',
  (t) => {
    let now = 1000
    const waiting: { callback: () => void; ms: number }[] = []
    const pace = new WritePace({
      now: () => now,
      later: (callback, ms) => void waiting.push({ callback, ms }),
    })
    const again: string[] = []
    const may = (name: string) => pace.mayWrite(name, () => again.push(name))
    for (let i = 0; i < 6; i++) {
      t.equal(may('a'), true)
      now += 1000
    }
    t.equal(may('a'), false)
    t.equal(may('a'), false)
    t.equal(may('b'), true, 'another one')
    t.strictSame(
      waiting.map(({ ms }) => ms),
      [54_000],
      'one timer',
    )
    now += 54_000
    waiting.pop()!.callback()
    t.strictSame(again, ['a'])
    t.equal(may('a'), true)
    t.equal(may('a'), false)
    t.strictSame(
      waiting.map(({ ms }) => ms),
      [1000],
    )
    pace.keep(new Map([['a', {}]]))
    t.equal(may('a'), false)
    pace.keep(new Map([['b', {}]]))
    t.equal(may('a'), true, 'one that was made anew')
    t.end()
  },
)
