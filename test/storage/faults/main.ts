/** Rounds of failing system calls for a release. */
import { readFlags } from '../../../bench/read-flags.js'
import { seededRandom } from '../../seeded-random.js'
import { playDiskFull, playIoError } from '../level-fault-rounds.js'

const usage = `node dist/test/storage/faults/main.js [flags]

A server on LevelDB writes while a system call fails. Ends with 1 when something acknowledged was lost, or was
acknowledged after the failure.

  --rounds N     how many (50)
  --seed N       of the first one; each next has the next number (1)
  --kind NAME    io: a call fails; disk-full: the disk fills up, for which root mounts a small one (io)
`

const plays: Readonly<Record<string, typeof playIoError>> = {
  io: playIoError,
  'disk-full': playDiskFull,
}
const flags = readFlags(usage, {
  rounds: { type: 'string', default: '50' },
  seed: { type: 'string', default: '1' },
  kind: { type: 'string', default: 'io', oneOf: Object.keys(plays) },
})
const play = plays[flags.kind]!
let hits = 0
let broken = 0
for (let i = 0; i < Number(flags.rounds); i++) {
  const seed = Number(flags.seed) + i
  const endings: (() => unknown)[] = []
  const scope = { teardown: (end: () => unknown) => void endings.unshift(end) }
  const { what, hit, acknowledged, problems } = await play(scope, seededRandom(seed))
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
