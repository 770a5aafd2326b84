/** Three servers on one etcd under load, while one thing after the other happens to them. */
import t from 'tap'
import { hasEtcd, startEtcd } from '../storage/etcd-fixture.js'
import { playRound } from './fault-rounds.js'
import { faultyEtcd } from './faulty-etcd.js'

const seed = Math.floor(Math.random() * 1e6)
const faults = ['kill', 'etcd-pause', 'etcd-kill', 'etcd-full', 'etcd-compact', 'etcd-left-behind']

t.test(
  'servers that die, and their etcd, stopped, killed, full, compacted: one history for all of them',
  { skip: hasEtcd ? false : 'no etcd on this machine' },
  async (t) => {
    const etcd = await startEtcd(t, { flags: ['--quota-backend-bytes', String(16 << 20)] })
    const store = await faultyEtcd(t, etcd, '/replicas')
    const { problems } = await playRound({ seed, store, replicas: 3, faults, inTurn: true })
    t.same(problems, [], `seed ${seed}`)
  },
)
