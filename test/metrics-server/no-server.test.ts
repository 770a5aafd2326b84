import t from 'tap'
import { systemClock } from '#api/clock.js'
import { createClient } from '#client/client.js'
import { silentLog } from '#client/log.js'
import { metricsServerProcess } from '#metrics-server/main.js'
import { parseFlags } from '#program/flags.js'
import { freePort } from '../free-port.js'

t.test('a metrics server that waits for its API server ends in an orderly way', async (t) => {
  const client = createClient({
    server: `http://127.0.0.1:${await freePort()}`,
    namespace: 'default',
  })
  t.teardown(() => client.close())
  const stop = new AbortController()
  const tries: string[] = []
  const log = { ...silentLog, info: (_fields: object, message: string) => tell(message) }
  const tell = (message: string): void => {
    tries.push(message)
    if (tries.length === 2) stop.abort()
  }
  const deps = { client, clock: systemClock, log, signal: stop.signal, hostname: 'h' }
  await metricsServerProcess.run(deps, parseFlags([], metricsServerProcess.flags))
  t.same(tries, ['will try again', 'will try again'])
})
