/** Lists in one piece take no more room than they may, and do not drive each other out. */
import t from 'tap'
import type { StoredObject } from '#cacher/object-storage.js'
import { limits } from '#limits'
import { JoinedLists } from '#routes/answers/joined-lists.js'

t.test(
  'of more lists than there is room for, those that were joined are found again',
  async (t) => {
    const joined = new JoinedLists()
    const roomFor = limits.joinedListsBytesMax / limits.joinedListBytesMax + 1
    const lists = Array.from({ length: roomFor + 3 }, (): StoredObject[] => [])
    let made = 0
    const listAll = () =>
      lists.map((list) =>
        joined.get(list, () => Buffer.alloc(limits.joinedListBytesMax, made++ & 0xff)),
      )
    const first = listAll()
    t.equal(first.filter((bytes) => bytes !== undefined).length, made)
    for (let i = 0; i < 5; i++) listAll()
    // It may be that the time to begin anew comes in between, but not again and again.
    t.ok(made <= 2 * roomFor, `${made} were joined`)
  },
)
