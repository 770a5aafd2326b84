import t from 'tap'
import { sleep } from '#async/sleep.js'
import { withinTime } from '#async/within-time.js'
import { leftAtSignal } from './left-at-signal.js'

t.test('what is over leaves nothing behind at the signal that lives on', async (t) => {
  const { signal } = new AbortController()
  for (let i = 0; i < 100; i++) await withinTime(signal, 1000, async () => i)
  await t.rejects(withinTime(signal, 1000, () => Promise.reject(new Error('no'))))
  t.equal(leftAtSignal(signal), 0)
})

t.test('it ends with the signal, and when its time is over', async (t) => {
  const reasonOf = async (signal: AbortSignal, timeoutMs: number): Promise<unknown> =>
    withinTime(signal, timeoutMs, async (own) => {
      await sleep(10_000, own)
      return own.reason
    })
  const stop = new AbortController()
  const waits = reasonOf(stop.signal, 10_000)
  t.match(await reasonOf(stop.signal, 1), { name: 'TimeoutError' })
  const why = new Error('enough')
  stop.abort(why)
  t.equal(await waits, why)
  t.equal(await reasonOf(stop.signal, 10_000), why, 'also one that was over before')
})
