/** The short form of main.ts beside this. */
import t from 'tap'
import { seededRandom } from '../../seeded-random.js'
import { playRound } from './dying-pods.js'

t.test('whatever the moment at which the kubelet is killed, Pods end', async (t) => {
  t.same(await playRound(t, { random: seededRandom(1), pods: 8 }), [])
})
