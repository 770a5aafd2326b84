/**
 * Rounds for a release: `node dist/test/histories/main.js [--rounds 50] [--seed 1] [--storage level|etcd] [--faults a,b]
 * [--etcd BINARY]`.
 * Exit code 1 when a round broke a promise; its history is kept and its seed is told.
 */
import { parseArgs } from 'node:util'
import { startEtcd } from '../storage/etcd-fixture.js'
import { playRound } from './fault-rounds.js'
import { faultyEtcd } from './faulty-etcd.js'

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '50' },
    seed: { type: 'string', default: '1' },
    storage: { type: 'string', default: 'level' },
    faults: { type: 'string' },
    etcd: { type: 'string', default: 'etcd' },
  },
})

if (!['level', 'etcd'].includes(values.storage))
  throw new Error(`--storage ${values.storage}: level or etcd`)

for (const name of ['SIGINT', 'SIGTERM'] as const) process.once(name, () => process.exit(1))

const endings: (() => unknown)[] = []
const scope = { teardown: (end: () => unknown) => void endings.unshift(end) }
const etcd = values.storage === 'etcd' ? await startEtcd(scope, { binary: values.etcd }) : undefined
const faults = values.faults?.split(',')
const counts = new Map<string, number>()
let broken = 0
let acknowledged = 0
try {
  for (let i = 0; i < Number(values.rounds); i++) {
    const seed = Number(values.seed) + i
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
  `${values.rounds} rounds (${kinds}), ${acknowledged} writes acknowledged, ${broken} rounds broken\n`,
)
process.exitCode = broken === 0 ? 0 : 1
