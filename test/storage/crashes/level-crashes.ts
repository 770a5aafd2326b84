/** A LevelDB whose process is killed under load, and opened again. */
import { fileURLToPath } from 'node:url'
import type { Test } from 'tap'
import { systemClock } from '#api/clock.js'
import type { StorageDriver } from '#storage/driver.js'
import { openStorage } from '#storage/open.js'
import { eventually } from '../../eventually.js'
import { type DeadlyCall, writeUntilCall, writeUntilKilled } from '../killed-writer.js'
import { temporaryDirectory } from '../level-fixture.js'
import { CrashJudge } from './crash-judge.js'
import { lifetimeSeconds } from './crash-load.js'
import type { CrashRecord } from './crash-record.js'

const writer = fileURLToPath(new URL('../fixtures/crash-writer.js', import.meta.url))

interface LevelCrashes {
  readonly acknowledged: number
  readonly problems: readonly string[]
}

const opened = async <T>(
  directory: string,
  work: (driver: StorageDriver) => Promise<T>,
  now = () => systemClock.now(),
): Promise<T> => {
  const driver = await openStorage(`level:${directory}`, { clock: { now } })
  try {
    return await work(driver)
  } finally {
    await driver.close()
  }
}

interface Kills {
  readonly seed: number
  readonly random: () => number
  readonly kills: number
  /** See the writer's. */
  readonly plant?: string
}

/** What a writer said until it died. */
type Die = (args: readonly string[]) => Promise<readonly string[]>

const playDeaths = async (
  t: Pick<Test, 'teardown'>,
  { seed, kills, plant = '' }: Kills,
  die: Die,
): Promise<LevelCrashes> => {
  const directory = temporaryDirectory(t)
  const judge = new CrashJudge()
  let acknowledged = 0
  for (let round = 0; round < kills; round++) {
    const lines = await die([directory, String(seed + round), String(round), plant])
    // What the clients of the writer knew.
    const records = lines.map((line): CrashRecord => JSON.parse(line))
    acknowledged += records.filter(({ kind }) => kind === 'done').length
    const problems = await opened(directory, (driver) => judge.judge(driver, records)).catch(
      (error) => [`does not open: ${(error as Error).message}`],
    )
    if (problems.length > 0) return { acknowledged, problems }
  }
  const later = () => systemClock.now() + lifetimeSeconds * 1_000
  const ended = async (driver: StorageDriver) => {
    const left = () => judge.judgeLifetimes(driver)
    await eventually('the end of lifetimes', async () => (await left()).length === 0).catch(
      () => {},
    )
    return left()
  }
  return { acknowledged, problems: await opened(directory, ended, later) }
}

export const playLevelCrashes = (t: Pick<Test, 'teardown'>, options: Kills) =>
  playDeaths(t, options, (args) => writeUntilKilled(writer, args, 20 + options.random() * 700))

/** The calls by which files change, and how many of them a thread comes to soon: those of the start are among them. */
const deadlyCalls = [
  { name: 'write', last: 150 },
  { name: 'fdatasync', last: 60 },
  { name: 'fsync', last: 2 },
  { name: 'rename', last: 3 },
  { name: 'unlink', last: 4 },
] as const

/** Killed at one system call after the other, with strace; at those of one name with `only`. `hits`: how many came. */
export const playDeadlyCalls = async (
  t: Pick<Test, 'teardown'>,
  options: Kills & { readonly only?: (typeof deadlyCalls)[number]['name'] },
) => {
  const { random, only } = options
  const deadly = deadlyCalls.filter(({ name }) => only === undefined || name === only)
  const calls: (DeadlyCall & { hit: boolean })[] = []
  const crashes = await playDeaths(t, options, async (args) => {
    const { name, last } = deadly[Math.floor(random() * deadly.length)]!
    const call = { name, when: 1 + Math.floor(random() * last) }
    const { lines, hit } = await writeUntilCall(writer, args, call)
    calls.push({ ...call, hit })
    return lines
  })
  return { ...crashes, calls, hits: calls.filter(({ hit }) => hit).length }
}
