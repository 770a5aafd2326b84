/**
 * Rounds for a release: `node dist/test/storage/faults/main.js [--rounds 50] [--seed 1] [--kind io|disk-full]`.
 * Exit code 1 when something acknowledged was lost, or acknowledged after a failure.
 */
import { parseArgs } from 'node:util'
import { seededRandom } from '../../seeded-random.js'
import { playDiskFull, playIoError } from '../level-fault-rounds.js'

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '50' },
    seed: { type: 'string', default: '1' },
    kind: { type: 'string', default: 'io' },
  },
})
const play = values.kind === 'io' ? playIoError : playDiskFull
let hits = 0
let broken = 0
for (let i = 0; i < Number(values.rounds); i++) {
  const seed = Number(values.seed) + i
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
process.stdout.write(`${values.rounds} rounds, ${hits} hit, ${broken} broken\n`)
process.exitCode = broken === 0 ? 0 : 1
