/** What is kept by a text that clients choose. */
import t from 'tap'
import { ExpiringCache } from '#collections/expiring-cache.js'
import { Kept } from '#collections/kept.js'
import { limits } from '#limits'

t.test('what is made of a text is kept, but not that of a long one', async (t) => {
  const kept = new Kept<object>(2)
  const make = (text: string) => ({ text })
  t.equal(kept.of('a', make), kept.of('a', make))
  // A thousand requests with names of a megabyte would otherwise take a gigabyte for as long as the server runs.
  const long = 'n'.repeat(limits.keptTextLengthMax + 1)
  t.not(kept.of(long, make), kept.of(long, make))
})

t.test('nor is a long question with its answer', async (t) => {
  const cache = new ExpiringCache<string>(2)
  cache.set('short', 'answer', 10)
  t.equal(cache.get('short', 5), 'answer')
  const long = 'n'.repeat(limits.keptQuestionLengthMax + 1)
  cache.set(long, 'answer', 10)
  t.equal(cache.get(long, 5), undefined)
})
