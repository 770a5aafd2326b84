import { spawnSync } from 'node:child_process'
import { cpSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'
import { systemClock } from '#api/clock.js'
import { StorageError } from '#storage/driver.js'
import { openStorage } from '#storage/open.js'
import { writeUntilKilled } from './killed-writer.js'
import { openLevelIn, temporaryDirectory } from './level-fixture.js'
import { lost, type Newest, noteAcknowledged } from './lost-writes.js'
import { put, remove, shown, take, write } from './suite.js'

const writer = fileURLToPath(new URL('./fixtures/writer.js', import.meta.url))

t.test('kill -9 under load, twenty times: nothing that was acknowledged is lost', async (t) => {
  const directory = temporaryDirectory(t)
  const newest: Newest = new Map()
  let head = 0
  for (let round = 0; round < 20; round++) {
    const lines = await writeUntilKilled(
      writer,
      [directory, String(round)],
      30 + ((round * 53) % 130) * 3,
    )
    const driver = await openStorage(`level:${directory}`, { clock: systemClock })
    try {
      for (const line of lines) {
        const revision = noteAcknowledged(newest, line)
        if (revision < head) t.fail(`revision ${revision} was given before, head ${head}`)
      }
      const now = await driver.headRevision()
      t.ok(now >= head, 'the head does not go back')
      head = now
      t.same(await lost(driver, newest), [], `round ${round}`)
      const events = await take(driver, { prefix: '/', after: driver.compactedRevision() }, 0)
      const revisions = events.map((event) => event.revision)
      t.same(
        revisions,
        [...revisions].sort((a, b) => a - b),
        'history in order',
      )
    } finally {
      await driver.close()
    }
  }
})

t.test('a second opener is refused by name, and the first goes on', async (t) => {
  const directory = temporaryDirectory(t)
  const driver = await openLevelIn(t, directory)
  await write(driver, put('/a', '1'))
  await t.rejects(openStorage(`level:${directory}`, { clock: systemClock }), {
    code: 'Locked',
    message: /in use/,
  })
  const other = spawnSync(process.execPath, [writer, directory, '0'], {
    encoding: 'utf8',
    timeout: 120_000,
  })
  t.not(other.status, 0)
  t.match(other.stderr, `${directory} is in use by another process`)
  await write(driver, put('/a', '2'))
})

t.test('the folder is for its owner only', async (t) => {
  const directory = temporaryDirectory(t)
  const driver = await openLevelIn(t, join(directory, 'data'))
  await write(driver, put('/secret', 's'))
  t.equal(statSync(join(directory, 'data')).mode & 0o777, 0o700)
})

/** A store with live keys, history, tombstones and a compaction behind it. */
const seasoned = async (t: Test) => {
  const directory = temporaryDirectory(t)
  let driver = await openStorage(`level:${directory}`, { clock: systemClock })
  for (let i = 0; i < 150; i++) await write(driver, put(`/k${i % 40}`, `${i} ${'v'.repeat(200)}`))
  await write(driver, remove('/k3'), remove('/k4'))
  await driver.compact(100)
  // A second opening writes the first log out into a table.
  await driver.close()
  driver = await openStorage(`level:${directory}`, { clock: systemClock })
  for (let i = 0; i < 30; i++) await write(driver, put(`/k${i}`, `late ${i}`))
  const state = shown((await driver.range({ prefix: '' })).kvs).join()
  await driver.close()
  return { directory, state }
}

const afterDamage = async (directory: string): Promise<string> => {
  try {
    const driver = await openStorage(`level:${directory}`, { clock: systemClock })
    const found = shown((await driver.range({ prefix: '' })).kvs).join()
    await driver.close()
    return found
  } catch (error) {
    return error instanceof StorageError ? error.code : String(error)
  }
}

t.test(
  'flipped bits and cut files are refused or do no harm: a wrong value is never served',
  async (t) => {
    const { directory, state } = await seasoned(t)
    const outcomes = new Map<string, number>()
    const files = readdirSync(directory).filter((name) => !/^LO(CK|G)/.test(name))
    let seed = 7
    const random = (below: number) => {
      seed = (seed * 48271) % 2147483647
      return seed % below
    }
    for (let round = 0; round < 80; round++) {
      const copy = join(temporaryDirectory(t), 'copy')
      cpSync(directory, copy, { recursive: true })
      const file = join(copy, files[round % files.length]!)
      const bytes = readFileSync(file)
      if (bytes.length === 0) continue
      if (round % 3 === 2) writeFileSync(file, bytes.subarray(0, random(bytes.length)))
      else {
        bytes[random(bytes.length)]! ^= 1 << random(8)
        writeFileSync(file, bytes)
      }
      const outcome = await afterDamage(copy)
      const kind = outcome === state ? 'unharmed' : outcome
      outcomes.set(kind, (outcomes.get(kind) ?? 0) + 1)
    }
    t.same(
      [...outcomes.keys()].filter((kind) => !/^(unharmed|Corrupt|Unavailable)$/.test(kind)),
      [],
    )
    t.ok((outcomes.get('Corrupt') ?? 0) > 10, JSON.stringify([...outcomes]))
  },
)

t.test('a missing LevelDB beside its acknowledgements is damage, not a new store', async (t) => {
  const { directory } = await seasoned(t)
  const bare = join(temporaryDirectory(t), 'bare')
  cpSync(directory, bare, { recursive: true, filter: (name) => !/CURRENT$/.test(name) })
  t.equal(await afterDamage(bare), 'Corrupt')
})

const isRoot = process.platform === 'linux' && process.getuid?.() === 0

t.test(
  'a full disk stops writing, keeps reading and loses nothing',
  { skip: isRoot ? false : 'mounting a small file system needs root' },
  async (t) => {
    const directory = temporaryDirectory(t)
    const mounted = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=3m', 'tmpfs', directory])
    if (mounted.status !== 0) return void t.comment('no right to mount')
    t.teardown(() => spawnSync('umount', ['-l', directory]))
    const driver = await openStorage(`level:${directory}/data`, { clock: systemClock })
    const kept = new Map<string, string>()
    let failure: StorageError | undefined
    for (let i = 0; failure === undefined && i < 5_000; i++) {
      const value = `${i} ${'z'.repeat(4000)}`
      try {
        await write(driver, put(`/k${i}`, value))
        kept.set(`/k${i}`, value)
      } catch (error) {
        failure = error as StorageError
      }
    }
    t.equal(failure?.code, 'UnknownOutcome', 'the failed write may or may not be there')
    t.match(await driver.health({ timeoutMs: 1_000 }), /stopped writing/)
    await t.rejects(write(driver, put('/more', '1')), { code: 'NoSpace' })
    t.equal(String((await driver.get('/k0')).kv!.value), kept.get('/k0'), 'reads go on')
    await driver.close()
    spawnSync('mount', ['-o', 'remount,size=32m', directory])
    const again = await openStorage(`level:${directory}/data`, { clock: systemClock })
    const { kvs } = await again.range({ prefix: '' })
    const found = new Map(kvs.map((kv) => [kv.key, String(kv.value)]))
    t.same(
      [...kept].filter(([key, value]) => found.get(key) !== value),
      [],
    )
    await write(again, put('/more', '1'))
    await again.close()
  },
)
