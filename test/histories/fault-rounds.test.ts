import t from 'tap'
import { hasEtcd, startEtcd } from '../storage/etcd-fixture.js'
import { canTrace, playRound } from './fault-rounds.js'
import { faultyEtcd } from './faulty-etcd.js'

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

t.test(
  'two servers on one etcd that dies: one history for both',
  { skip: hasEtcd ? false : 'no etcd on this machine' },
  async (t) => {
    const store = await faultyEtcd(t, await startEtcd(t), '/round')
    const { problems } = await playRound({ seed, store, replicas: 2, faults: ['etcd-kill'] })
    t.same(problems, [], `seed ${seed}`)
  },
)
