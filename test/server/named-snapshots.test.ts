/** Named snapshots hold the whole store each, so as few as may be are held at once. */
import t from 'tap'
import { limits } from '#limits'
import { Snapshots } from '#server/snapshots.js'

t.test(
  'one that would be too many is refused before the store is read, however many come at once',
  async (t) => {
    let taken = 0
    let taking = 0
    const takeSnapshot = async () => {
      taken++
      t.equal(++taking, 1, 'one is taken at a time')
      await new Promise((resolve) => setImmediate(resolve))
      taking--
      return { revision: 1, bytes: 0, values: new Map() }
    }
    const snapshots = new Snapshots({
      takeSnapshot,
      restoreSnapshot: () => Promise.reject(new Error('nobody restores')),
    })
    const names = Array.from({ length: limits.snapshotsMax + 3 }, (_, i) => `s${i}`)
    const put = await Promise.allSettled(names.map((name) => snapshots.put(name)))
    t.equal(put.filter(({ status }) => status === 'fulfilled').length, limits.snapshotsMax)
    t.equal(snapshots.list().length, limits.snapshotsMax)
    t.equal(taken, limits.snapshotsMax)
    await snapshots.put('s0')
    t.equal(taken, limits.snapshotsMax + 1, 'a name that there is may be taken again')
  },
)
