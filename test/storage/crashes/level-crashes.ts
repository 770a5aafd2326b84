/** A LevelDB whose process is killed under load, and opened again. */
import { fileURLToPath } from 'node:url'
import type { Test } from 'tap'
import { systemClock } from '#api/clock.js'
import type { StorageDriver } from '#storage/driver.js'
import { openStorage } from '#storage/open.js'
import { eventually } from '../../eventually.js'
import { writeUntilKilled } from '../killed-writer.js'
import { temporaryDirectory } from '../level-fixture.js'
import { CrashJudge } from './crash-judge.js'
import { lifetimeSeconds } from './crash-load.js'
import type { CrashRecord } from './crash-record.js'

const writer = fileURLToPath(new URL('../fixtures/crash-writer.js', import.meta.url))

export interface LevelCrashes {
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

export const playLevelCrashes = async (
  t: Pick<Test, 'teardown'>,
  { seed, random, kills }: { seed: number; random: () => number; kills: number },
): Promise<LevelCrashes> => {
  const directory = temporaryDirectory(t)
  const judge = new CrashJudge()
  let acknowledged = 0
  for (let round = 0; round < kills; round++) {
    const args = [directory, String(seed + round), String(round)]
    const lines = await writeUntilKilled(writer, args, 5 + random() * 150)
    // What the clients of the writer knew.
    const records = lines.map((line): CrashRecord => JSON.parse(line))
    acknowledged += records.filter(({ kind }) => kind === 'done').length
    const problems = await opened(directory, (driver) => judge.judge(driver, records))
    if (problems.length > 0) return { acknowledged, problems }
  }
  const later = () => systemClock.now() + lifetimeSeconds * 1_000
  const ended = async (driver: StorageDriver) => {
    const left = () => judge.judgeLifetimes(driver)
    await eventually('the end of lifetimes', async () => (await left()).length === 0, 10_000).catch(
      () => {},
    )
    return left()
  }
  return { acknowledged, problems: await opened(directory, ended, later) }
}
