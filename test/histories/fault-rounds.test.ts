import t from 'tap'
import { hasEtcd, startEtcd } from '../storage/etcd-fixture.js'
import { playRound } from './fault-rounds.js'
import { faultyEtcd } from './faulty-etcd.js'

const seed = Math.floor(Math.random() * 1e6)

t.test('a server on LevelDB: linearizable, and every watch whole, whatever happens', async (t) => {
  for (const [i, fault] of ['kill', 'restart', 'slow-sync', 'drop'].entries()) {
    const { problems } = await playRound({ seed: seed + i, faults: [fault] }).catch((error) => {
      throw new Error(`seed ${seed + i} ${fault}: ${error.message}`)
    })
    t.same(problems, [], `seed ${seed + i}: ${fault}`)
  }
})

t.test(
  'two servers on one etcd: linearizable, and every watch whole, whatever happens',
  { skip: hasEtcd ? false : 'no etcd on this machine' },
  async (t) => {
    for (const [i, fault] of ['etcd-kill', 'kill', 'etcd-pause'].entries()) {
      const store = faultyEtcd(await startEtcd(t))
      const round = { seed: seed + i, replicas: 2, store, faults: [fault] }
      const { problems } = await playRound(round)
      t.same(problems, [], `seed ${seed + i}: ${fault}`)
    }
  },
)
