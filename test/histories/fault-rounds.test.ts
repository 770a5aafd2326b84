import t from 'tap'
import { canTrace, playRound } from './fault-rounds.js'

const seed = Math.floor(Math.random() * 1e6)

t.test('a server on LevelDB: linearizable, and every watch whole, whatever happens', async (t) => {
  for (const [i, fault] of [
    'kill',
    'restart',
    canTrace ? 'slow-sync' : 'pause',
    'drop',
  ].entries()) {
    const { problems } = await playRound({ seed: seed + i, faults: [fault] }).catch((error) => {
      throw new Error(`seed ${seed + i} ${fault}: ${error.message}`)
    })
    t.same(problems, [], `seed ${seed + i}: ${fault}`)
  }
})
