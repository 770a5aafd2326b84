import t from 'tap'
import { canTrace } from '../histories/fault-rounds.js'
import { seededRandom } from '../seeded-random.js'
import { playCrashes } from './crashes/crash-rounds.js'
import { crashBugs } from './crashes/crashable-driver.js'
import { playDeadlyCalls, playLevelCrashes } from './crashes/level-crashes.js'
import { levelPlants, playPowerCuts } from './crashes/power-cuts.js'

const seed = Math.floor(Math.random() * 1e6)

t.test('a right store passes, however it is crashed', async (t) => {
  for (let i = 0; i < 20; i++)
    t.same((await playCrashes(seed + i)).problems, [], `seed ${seed + i}`)
})

for (const bug of crashBugs)
  t.test(`planted and caught after a crash: ${bug}`, async (t) => {
    let problems: string[] = []
    // One of some six shows the rarest of them.
    for (let i = 0; i < 300 && problems.length === 0; i++)
      problems = (await playCrashes(seed + i, bug)).problems
    t.ok(problems.length > 0)
    t.comment(problems[0])
  })

t.test('LevelDB passes, killed under load', async (t) => {
  const random = seededRandom(seed)
  const { acknowledged, problems } = await playLevelCrashes(t, { seed, random, kills: 5 })
  t.same(problems, [], `seed ${seed}`)
  t.ok(acknowledged > 10, `${acknowledged} acknowledged`)
})

const skip = canTrace ? false : 'strace cannot trace here'

t.test('LevelDB passes, killed when it enters a system call', { skip }, async (t) => {
  const random = seededRandom(seed)
  let hits = 0
  // Two of three calls come.
  for (let i = 0; i < 10 && hits === 0; i++) {
    const played = await playDeadlyCalls(t, { seed: seed + i, random, kills: 6 })
    t.same(played.problems, [], `seed ${seed + i}`)
    hits = played.hits
  }
  t.ok(hits > 0, 'a call came')
})

t.test('planted in LevelDB and caught at a system call: batch in two', { skip }, async (t) => {
  const random = seededRandom(seed)
  // Many syncs stand between the two parts of a batch; of all calls hardly one in twenty does.
  const options = { seed, random, kills: 200, plant: 'batch in two', only: 'fdatasync' } as const
  const { problems } = await playDeadlyCalls(t, options)
  t.ok(problems.length > 0)
  t.comment(problems[0])
})

t.test('LevelDB passes, whatever a power cut leaves of its files', { skip }, async (t) => {
  const random = seededRandom(seed)
  const { states, problems } = await playPowerCuts(t, { seed, random, moments: 12 })
  t.same(problems.slice(0, 3), [], `seed ${seed}`)
  t.ok(states > 20, `${states} states`)
})

for (const plant of levelPlants)
  t.test(`planted in LevelDB and caught after a power cut: ${plant}`, { skip }, async (t) => {
    const random = seededRandom(seed)
    // A batch in two parts lies open after every other sync, and after hardly any other call.
    const only = plant === 'batch in two' ? { only: 'fdatasync' } : {}
    const { problems } = await playPowerCuts(t, { seed, random, moments: 30, plant, ...only })
    t.ok(problems.length > 0)
    t.comment(problems[0])
  })
