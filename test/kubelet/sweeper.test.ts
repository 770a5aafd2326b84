/** When a container counts as swept: what was killed may take its time to end. */
import t from 'tap'
import { Sweeper } from '#kubelet/runtime/process/sweeper.js'

t.test('a container is swept once nothing of it is found any more', async (t) => {
  let looks = 0
  const sweeper = new Sweeper((isOfIt) => {
    looks++
    t.ok(isOfIt('c-1'))
    // Killed, and still there for a while, as on a machine that has no processor for it.
    return looks <= 10 ? 1 : 0
  })
  await sweeper.sweep('c-1')
  t.equal(looks, 11)
})
