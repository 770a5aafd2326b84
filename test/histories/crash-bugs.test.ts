/** A server on a disk that forgets, crashed under load: what clients saw tells whether the store is right. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause, setImmediate as turn } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { systemClock } from '#api/clock.js'
import type { Server } from '#src/index.js'
import { createServer } from '../create-server.js'
import { eventually } from '../eventually.js'
import { seededRandom } from '../seeded-random.js'
import { CrashableDriver, type CrashBug, Disk } from '../storage/crashes/crashable-driver.js'
import { temporaryDirectory } from '../storage/level-fixture.js'
import { Load } from './load.js'
import { problemsOf } from './verdict.js'

const token = 't'
const crashes = 3
const writesBetween = 25
/** What a server says whose store is gone, where a crashed process would say nothing. */
const crashed = /"message":"Internal error occurred: crashed"/

/** A crash leaves the server without a store: it never answers again what it was asked, and is left alone until the end. */
const play = async (t: Test, random: () => number, bug?: CrashBug) => {
  const tokenAuthFile = join(temporaryDirectory(t), 'tokens.csv')
  writeFileSync(tokenAuthFile, `${token},t,t,"system:masters"\n`)
  const disk = new Disk()
  const servers: Server[] = []
  t.teardown(() => Promise.all(servers.map((server) => server.close())))
  const start = async () => {
    const driver = new CrashableDriver(disk, systemClock, bug)
    const server = await createServer({ storage: driver, tokenAuthFile, logLevel: 'silent' })
    servers.push(server)
    return { driver, url: server.url }
  }
  let { driver, url } = await start()
  const endpoint = { url }
  const load = new Load({ endpoints: [endpoint], token, namespace: 'default', random })
  try {
    await load.start()
    for (let crash = 0; crash < crashes; crash++) {
      const enough = load.acknowledged + writesBetween
      // When nothing is on its way to the disk a crash takes nothing.
      while (load.acknowledged < enough || disk.unsynced === 0) await turn()
      await pause(1)
      driver.crash(random)
      ;({ driver, url } = await start())
      endpoint.url = url
      load.dropConnections()
    }
    const enough = load.acknowledged + writesBetween
    await eventually('writes after the last crash', () => load.acknowledged >= enough)
    await load.finish(bug === undefined ? undefined : 5_000)
    return problemsOf(load).filter((problem) => !crashed.test(problem))
  } catch (error) {
    return [`does not open again: ${error}`]
  } finally {
    load.abandon()
  }
}

const seed = Math.floor(Math.random() * 1e6)

t.test('a right store passes', async (t) => {
  t.same(await play(t, seededRandom(seed)), [], `seed ${seed}`)
})

/** Those that one object's history shows; the others need transactions, lifetimes or compactions. */
const bugs: readonly CrashBug[] = [
  'a write is acknowledged before it is synced',
  'a write is shown before it is synced',
  'the revision is that of the newest key',
  'history is forgotten, and nobody is told',
]

for (const bug of bugs)
  t.test(`planted and caught by clients after a crash: ${bug}`, async (t) => {
    let problems: string[] = []
    for (let round = 0; round < 10 && problems.length === 0; round++)
      problems = (await play(t, seededRandom(seed + round), bug)).filter(
        // A slow machine may be late too: that alone convicts nobody.
        (problem) => !/did not reach/.test(problem),
      )
    t.ok(problems.length > 0)
    t.comment(problems[0])
  })
