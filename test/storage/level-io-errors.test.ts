import t from 'tap'
import { canTrace } from '../histories/fault-rounds.js'
import { seededRandom } from '../seeded-random.js'
import { playDiskFull, playIoError } from './level-fault-rounds.js'

const seed = Math.floor(Math.random() * 1e6)
const isRoot = process.platform === 'linux' && process.getuid?.() === 0

t.test(
  'a system call that fails: nothing is acknowledged after it, and nothing that was is lost',
  { skip: canTrace ? false : 'strace cannot trace here' },
  async (t) => {
    let hits = 0
    for (let i = 0; i < 6; i++) {
      const { what, hit, problems } = await playIoError(t, seededRandom(seed + i))
      if (hit) hits++
      t.same(problems, [], `seed ${seed + i}: ${what}`)
    }
    t.ok(hits > 0, `${hits} of 6 came`)
  },
)

t.test(
  'a disk that is full and has room again',
  { skip: isRoot ? false : 'mounting a small file system needs root' },
  async (t) => {
    let hits = 0
    // Now and then LevelDB makes room in time.
    for (let i = 0; i < 5 && hits === 0; i++) {
      const { what, hit, problems } = await playDiskFull(t, seededRandom(seed + i))
      if (hit) hits++
      t.same(problems, [], `seed ${seed + i}: ${what}`)
    }
    t.equal(hits, 1, 'it was full')
  },
)
