/** Rounds of clients under faults for a release. */
import { readFlags } from '../../bench/read-flags.js'
import { startEtcd } from '../storage/etcd-fixture.js'
import { playRound } from './fault-rounds.js'
import { faultyEtcd } from './faulty-etcd.js'

const usage = `node dist/test/histories/main.js [flags]

Clients write, read and watch while a fault is played. Ends with 1 when a round broke a promise; its history is kept
and its seed is told.

  --rounds N         how many (50)
  --seed N           of the first one; each next has the next number (1)
  --storage NAME     level, or etcd: two servers on one (level)
  --faults A,B       only some of kill, restart, pause, drop, slow-sync (with strace); with etcd also of etcd-kill,
                     etcd-pause, etcd-compact, etcd-cut, etcd-stall, etcd-slow
  --etcd BINARY      the etcd to start (etcd)
`

const flags = readFlags(usage, {
  rounds: { type: 'string', default: '50' },
  seed: { type: 'string', default: '1' },
  storage: { type: 'string', default: 'level', oneOf: ['level', 'etcd'] },
  faults: { type: 'string' },
  etcd: { type: 'string', default: 'etcd' },
})

for (const name of ['SIGINT', 'SIGTERM'] as const) process.once(name, () => process.exit(1))

const endings: (() => unknown)[] = []
const scope = { teardown: (end: () => unknown) => void endings.unshift(end) }
const etcd = flags.storage === 'etcd' ? await startEtcd(scope, { binary: flags.etcd }) : undefined
const faults = flags.faults?.split(',')
const counts = new Map<string, number>()
let broken = 0
let acknowledged = 0
try {
  for (let i = 0; i < Number(flags.rounds); i++) {
    const seed = Number(flags.seed) + i
    const store = etcd && (await faultyEtcd(scope, etcd, `/round-${seed}`))
    const result = await playRound({ seed, faults, store, replicas: etcd ? 2 : 1 }).catch(
      (error) => ({ fault: 'none', acknowledged: 0, problems: [String(error)] }),
    )
    counts.set(result.fault, (counts.get(result.fault) ?? 0) + 1)
    acknowledged += result.acknowledged
    if (result.problems.length > 0) broken++
    const verdict = result.problems.length === 0 ? 'whole' : 'BROKEN'
    process.stdout.write(
      `seed ${seed} ${result.fault}: ${result.acknowledged} writes acknowledged, ${verdict}\n`,
    )
    for (const problem of result.problems.slice(0, 5)) process.stdout.write(`  ${problem}\n`)
  }
} finally {
  for (const end of endings) await end()
}
const kinds = [...counts].map(([fault, count]) => `${fault} ${count}`).join(', ')
process.stdout.write(
  `${flags.rounds} rounds (${kinds}), ${acknowledged} writes acknowledged, ${broken} rounds broken\n`,
)
process.exitCode = broken === 0 ? 0 : 1
