import { spawnSync } from 'node:child_process'
import t from 'tap'
import { sleep } from '#async/sleep.js'
import { leftAtSignal } from './left-at-signal.js'

t.test('a wait ends with its signal and leaves nothing behind at one that lives on', async (t) => {
  const stop = new AbortController()
  for (let i = 0; i < 100; i++) await sleep(0, stop.signal)
  t.equal(leftAtSignal(stop.signal), 0)
  const waits = sleep(3_600_000, stop.signal)
  stop.abort()
  await waits
  await sleep(3_600_000, stop.signal)
})

t.test('a wait without a ref keeps no process alive', (t) => {
  const code = `import { sleep } from '#async/sleep.js'
    sleep(3_600_000, undefined, { ref: false })`
  const { status, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', code], {
    encoding: 'utf8',
  })
  t.equal(status, 0, stderr)
  t.end()
})
