/** Rounds of clients under faults for a release. */
import { readFlags } from '../../bench/read-flags.js'
import { startEtcdCluster } from '../storage/etcd-cluster.js'
import { startEtcd } from '../storage/etcd-fixture.js'
import { playRound, type SharedStore, UnknownFault } from './fault-rounds.js'
import { faultyCluster } from './faulty-cluster.js'
import { faultyEtcd } from './faulty-etcd.js'

const usage = `node dist/test/histories/main.js [flags]

Clients write, read and watch while a fault is played. Ends with 1 when a round broke a promise; its history is kept
and its seed is told.

  --rounds N         how many (50)
  --seed N           of the first one; each next has the next number (1)
  --storage NAME     level; etcd: three servers on one; etcd-cluster: three servers on three members (level)
  --faults A,B       only some of kill, restart, pause, drop, slow-sync (with strace); with etcd also of roll, etcd-kill,
                     etcd-pause, etcd-full, etcd-compact, etcd-left-behind, etcd-cut, etcd-stall, etcd-slow; with
                     etcd-cluster also of kill, pause and cut of the leader or a follower (leader-kill, …) and quorum-kill
  --etcd BINARY      the etcd to start (etcd)
`

const replicas: Readonly<Record<string, number>> = { level: 1, etcd: 3, 'etcd-cluster': 3 }
const flags = readFlags(usage, {
  rounds: { type: 'string', default: '50' },
  seed: { type: 'string', default: '1' },
  storage: { type: 'string', default: 'level', oneOf: Object.keys(replicas) },
  faults: { type: 'string' },
  etcd: { type: 'string', default: 'etcd' },
})

for (const name of ['SIGINT', 'SIGTERM'] as const) process.once(name, () => process.exit(1))

const endings: (() => unknown)[] = []
const scope = { teardown: (end: () => unknown) => void endings.unshift(end) }
const binary = flags.etcd
// Rounds leave what they stored; each that fills it fills what is left.
const quota = ['--quota-backend-bytes', String(256 << 20)]
const etcd = flags.storage === 'etcd' ? await startEtcd(scope, { binary, flags: quota }) : undefined
const cluster =
  flags.storage === 'etcd-cluster' ? await startEtcdCluster(scope, { binary }) : undefined
const storeOf = async (space: string): Promise<SharedStore | undefined> => {
  if (cluster !== undefined) return faultyCluster(cluster, space)
  return etcd && faultyEtcd(scope, etcd, space)
}
const faults = flags.faults?.split(',')
const counts = new Map<string, number>()
let broken = 0
let acknowledged = 0
try {
  for (let i = 0; i < Number(flags.rounds); i++) {
    const seed = Number(flags.seed) + i
    const store = await storeOf(`/round-${seed}`)
    const round = { seed, faults, store, replicas: replicas[flags.storage]! }
    const result = await playRound(round).catch((error) => {
      if (error instanceof UnknownFault) return error
      return { fault: 'none', acknowledged: 0, problems: [String(error)] }
    })
    if (result instanceof UnknownFault) {
      process.stderr.write(`${result.message}\n`)
      broken++
      break
    }
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
