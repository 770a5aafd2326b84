import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { systemClock } from '#api/clock.js'
import type { StorageDriver } from '#storage/driver.js'
import { openStorage } from '#storage/open.js'
import { startServer } from '../server/start-server.js'
import { temporaryDirectory } from '../storage/level-fixture.js'
import { plantedBugs, startProxy } from './planted-bugs.js'
import { driverWith, plantedDriverBugs } from './planted-driver-bugs.js'
import { convict, playShortLoad } from './short-load.js'

const server = await startServer(t)

t.test('a right server behind a proxy without a bug passes', async (t) => {
  const proxy = await startProxy(server.url, {})
  t.teardown(() => proxy.close())
  const { load, problems } = await playShortLoad({ server, endpoints: [proxy], namespace: 'right' })
  t.same(problems, [])
  t.ok(load.snapshots.length > 5)
})

for (const [index, [name, plant]] of Object.entries(plantedBugs).entries()) {
  t.test(`planted and caught: ${name}`, async (t) => {
    const proxy = await startProxy(server.url, plant())
    t.teardown(() => proxy.close())
    const problems = await convict((round) => ({
      server,
      endpoints: [proxy],
      namespace: `bug-${index}-${round}`,
    }))
    t.ok(problems.length > 0)
    t.comment(problems[0])
  })
}

const token = 'both'

/** Two servers on one store in memory, as on etcd. */
const pairOn = async (t: Test, plant: (driver: StorageDriver) => Partial<StorageDriver>) => {
  const driver = await openStorage('memory:', { clock: systemClock })
  t.teardown(() => driver.close())
  const tokenAuthFile = join(temporaryDirectory(t), 'tokens.csv')
  writeFileSync(tokenAuthFile, `${token},t,t,"system:masters"\n`)
  const options = { storage: driverWith(driver, plant(driver)), tokenAuthFile }
  return [await startServer(t, options), await startServer(t, options)] as const
}

t.test('two right servers on a right store pass', async (t) => {
  const endpoints = await pairOn(t, () => ({}))
  const { problems } = await playShortLoad({
    server: endpoints[0],
    endpoints,
    namespace: 'right',
    token,
  })
  t.same(problems, [])
})

for (const [name, plant] of Object.entries(plantedDriverBugs)) {
  t.test(`planted in the driver and caught: ${name}`, async (t) => {
    const endpoints = await pairOn(t, plant)
    const server = endpoints[0]
    const problems = await convict((round) => ({
      server,
      endpoints,
      namespace: `bug-${round}`,
      token,
    }))
    t.ok(problems.length > 0)
    t.comment(problems[0])
  })
}
