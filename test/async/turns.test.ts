/** Long work of many requests goes on in turns of the event loop that are one's own. */
import t from 'tap'
import { behindOthers, eachInTurns, Turn } from '#async/turns.js'
import { limits } from '#limits'

/** What is noted when, in turns of the event loop. */
const turnsOf = async (works: ((note: () => void) => Promise<void>)[]): Promise<number[]> => {
  const notes: number[] = []
  let turn = 0
  let ticking = true
  const tick = (): void => {
    turn++
    if (ticking) setImmediate(tick)
  }
  tick()
  await Promise.all(works.map((work) => work(() => notes.push(turn))))
  ticking = false
  return notes
}

const tenTimes = async (step: () => Promise<void>): Promise<void> => {
  for (let i = 0; i < 10; i++) await step()
}

t.test('a task that is alone does not wait for its first piece', (t) => {
  t.equal(behindOthers(), undefined)
  t.end()
})

t.test('a task that has run for long goes on in a turn of its own', async (t) => {
  const loop = (note: () => void): Promise<void> => {
    const turn = new Turn()
    return tenTimes(() => turn.next().then(note))
  }
  const piece = (note: () => void): Promise<void> =>
    tenTimes(async () => {
      await behindOthers()
      note()
    })
  const notes = await turnsOf([loop, piece, loop, piece, loop])
  t.equal(notes.length, 50)
  t.equal(new Set(notes).size, 50)
})

t.test('many pieces are done in order, as many in a turn as there is time for', async (t) => {
  const slow = (): void => {
    const end = performance.now() + limits.turnMsMax
    while (performance.now() < end);
  }
  /** The turn of each of six pieces that take a whole one. */
  const turnsOfPieces = (atOnce?: number): Promise<number[]> =>
    turnsOf([
      async (note) => {
        const seen: number[] = []
        const visit = (piece: number): void => {
          slow()
          seen.push(piece)
          note()
        }
        await eachInTurns([0, 1, 2, 3, 4, 5], visit, atOnce)
        t.same(seen, [0, 1, 2, 3, 4, 5])
      },
    ])
  t.equal(new Set(await turnsOfPieces()).size, 6)
  const pairs = await turnsOfPieces(2)
  t.equal(new Set(pairs).size, 3)
  for (const first of [0, 2, 4]) t.equal(pairs[first], pairs[first + 1])
})
