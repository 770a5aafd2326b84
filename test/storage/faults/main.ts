/** Rounds of failing system calls for a release. */
import { readFlags } from '../../../bench/read-flags.js'
import { seededRandom } from '../../seeded-random.js'
import { playCrashes } from '../crashes/crash-rounds.js'
import { crashBugs } from '../crashes/crashable-driver.js'
import { playDeadlyCalls, playLevelCrashes } from '../crashes/level-crashes.js'
import { levelPlants, playPowerCuts } from '../crashes/power-cuts.js'
import { type FaultRound, playDiskFull, playIoError } from '../level-fault-rounds.js'

const usage = `node dist/test/storage/faults/main.js [flags]

A store is written to while a fault comes. Ends with 1 when something acknowledged was lost, or was acknowledged after a
failure.

  --rounds N     how many (50)
  --seed N       of the first one; each next has the next number (1)
  --kind NAME    io: a system call of LevelDB fails; disk-full: its disk fills up, for which root mounts a small one;
                 crash: its process is killed ten times over; call: killed ten times at a system call, with strace; power-cut: what of its files may be left is opened, with
                 strace; simulated: a store on a disk that forgets crashes (io)
  --plant BUG    the store of call, power-cut or simulated has this bug, which must show; another name tells which there are
`

type Play = (
  scope: Parameters<typeof playIoError>[0],
  random: () => number,
  seed: number,
) => Promise<FaultRound>

const plays: Readonly<Record<string, Play>> = {
  io: playIoError,
  'disk-full': playDiskFull,
  crash: async (scope, random, seed) => {
    const { acknowledged, problems } = await playLevelCrashes(scope, { seed, random, kills: 10 })
    return { what: 'killed', hit: true, acknowledged, problems }
  },
  call: async (scope, random, seed) => {
    const plant = levelPlants.find((name) => name === flags.plant)
    const played = await playDeadlyCalls(scope, { seed, random, kills: 10, plant })
    const what = played.calls.map(({ name, when }) => `${name} ${when}`).join(', ')
    return { what, hit: played.hits > 0, ...played }
  },
  'power-cut': async (scope, random, seed) => {
    const plant = levelPlants.find((name) => name === flags.plant)
    const cuts = await playPowerCuts(scope, { seed, random, moments: 60, plant })
    return { what: `${cuts.states} power cuts`, hit: cuts.states > 0, ...cuts }
  },
  simulated: async (_, __, seed) => {
    const bug = crashBugs.find((name) => name === flags.plant)
    const { acknowledged, problems } = await playCrashes(seed, bug)
    return { what: bug ?? 'crashed', hit: true, acknowledged, problems }
  },
}
const flags = readFlags(usage, {
  rounds: { type: 'string', default: '50' },
  seed: { type: 'string', default: '1' },
  kind: { type: 'string', default: 'io', oneOf: Object.keys(plays) },
  plant: { type: 'string', oneOf: [...crashBugs, ...levelPlants] },
})
const play = plays[flags.kind]!
let hits = 0
let broken = 0
for (let i = 0; i < Number(flags.rounds); i++) {
  const seed = Number(flags.seed) + i
  const endings: (() => unknown)[] = []
  const scope = { teardown: (end: () => unknown) => void endings.unshift(end) }
  const { what, hit, acknowledged, problems } = await play(scope, seededRandom(seed), seed)
  for (const end of endings) await end()
  if (hit) hits++
  if (problems.length > 0) broken++
  const verdict = problems.length === 0 ? 'whole' : `BROKEN ${problems.slice(0, 3).join('; ')}`
  process.stdout.write(
    `seed ${seed} ${what}${hit ? '' : ' (did not come)'}: ${acknowledged} acknowledged, ${verdict}\n`,
  )
}
process.stdout.write(`${flags.rounds} rounds, ${hits} hit, ${broken} broken\n`)
process.exitCode = broken === 0 ? 0 : 1
