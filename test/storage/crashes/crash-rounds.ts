/** A store under load that is crashed and opened again, a few times over. */
import { AssertionError } from 'node:assert/strict'
import { setTimeout as pause } from 'node:timers/promises'
import { seededRandom } from '../../seeded-random.js'
import { CrashJudge } from './crash-judge.js'
import { lifetimeSeconds, runCrashLoad } from './crash-load.js'
import type { CrashRecord } from './crash-record.js'
import { CrashableDriver, type CrashBug, Disk } from './crashable-driver.js'

const crashes = 4
const lifetimeMs = lifetimeSeconds * 1_000

interface Played {
  readonly acknowledged: number
  readonly problems: string[]
}

/** Problems of the first crash that has any. A store that cannot even be opened again has one. */
export const playCrashes = async (seed: number, bug?: CrashBug): Promise<Played> => {
  try {
    return await play(seed, bug)
  } catch (error) {
    if (!(error instanceof AssertionError)) throw error
    return { acknowledged: 0, problems: [`the store contradicts itself: ${error.stack}`] }
  }
}

const play = async (seed: number, bug: CrashBug | undefined): Promise<Played> => {
  const random = seededRandom(seed)
  let now = 1_000_000
  const disk = new Disk()
  const judge = new CrashJudge()
  let acknowledged = 0
  const open = () => new CrashableDriver(disk, { now: () => now }, bug)
  for (let round = 0; round < crashes; round++) {
    const driver = open()
    const records: CrashRecord[] = []
    const ending = new AbortController()
    const wanted = 10 + random() * 60
    const enough = new Promise<void>((resolve) => {
      let done = 0
      const note = (record: CrashRecord) => {
        if (ending.signal.aborted) return
        records.push(record)
        if (record.kind !== 'done') return
        acknowledged++
        if (++done > wanted) resolve()
      }
      const name = String(round)
      void runCrashLoad({ driver, random, name, note, signal: ending.signal })
    })
    await enough
    // What ends by itself may be the last that happens.
    if (random() < 0.5) {
      now += lifetimeMs
      await driver.expire()
    }
    // At any moment of a write.
    if (random() < 0.5) await pause(0)
    driver.crash(random)
    ending.abort()
    now += lifetimeMs / 2
    const again = open()
    const problems = await judge.judge(again, records)
    if (problems.length > 0) return { acknowledged, problems }
    if (round !== crashes - 1) {
      again.crash(random)
      continue
    }
    now += lifetimeMs / 2
    await again.expire()
    return { acknowledged, problems: await judge.judgeLifetimes(again) }
  }
  return { acknowledged, problems: [] }
}
