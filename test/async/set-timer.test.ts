import t from 'tap'
import { setTimer } from '#async/set-timer.js'
import { sleep } from '#async/sleep.js'

t.test('what is to happen in some years does not happen at once', async (t) => {
  const years = setTimer(() => t.fail('it is too early'), 10 * 365 * 86_400_000)
  const soon = new Promise<void>((resolve) => setTimer(resolve, 1))
  await soon
  await sleep(20)
  clearTimeout(years)
})
