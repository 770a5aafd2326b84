/** LevelDB under load, and every state of its files that a power cut might have left: each is opened and judged. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Test } from 'tap'
import { systemClock } from '#api/clock.js'
import { openStorage } from '#storage/open.js'
import { killGroup } from '../../kill-group.js'
import { temporaryDirectory } from '../level-fixture.js'
import { CrashJudge } from './crash-judge.js'
import type { CrashRecord } from './crash-record.js'
import { readTrace, TracedDisk, tracedCalls, traceFlags } from './traced-disk.js'

const writer = fileURLToPath(new URL('../fixtures/crash-writer.js', import.meta.url))

/** Faults of the writer's LevelDB: see there. */
export const levelPlants = ['unsynced', 'batch in two'] as const

interface PowerCuts {
  readonly acknowledged: number
  /** How many states were opened. */
  readonly states: number
  readonly problems: readonly string[]
}

interface PowerCutOptions {
  readonly seed: number
  readonly random: () => number
  /** How many moments are looked at, if there are so many. */
  readonly moments: number
  /** Name of the system call after which moments are. Default any. */
  readonly only?: string
  readonly plant?: (typeof levelPlants)[number]
}

const acknowledgedMin = 80

/** The trace of a writer that was killed once it had written enough. */
const traceOf = async (directory: string, { seed, plant }: PowerCutOptions) => {
  const trace = join(directory, 'trace')
  const writing = [process.execPath, writer, join(directory, 'db'), String(seed), 'w', plant ?? '']
  const args = [...traceFlags, tracedCalls, '-o', trace, ...writing]
  // A group of its own: strace would leave the writer behind.
  const child = spawn('strace', args, { stdio: ['ignore', 'pipe', 'ignore'], detached: true })
  let acknowledged = 0
  child.stdout.on('data', (chunk) => {
    acknowledged += String(chunk).split('"done"').length - 1
    if (acknowledged >= acknowledgedMin) killGroup(child)
  })
  await once(child, 'close')
  return readTrace(readFileSync(trace, 'utf8'))
}

const recordsIn = (data: Buffer): CrashRecord[] =>
  String(data)
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line))

const judged = async (directory: string, records: readonly CrashRecord[]): Promise<string[]> => {
  try {
    const driver = await openStorage(`level:${directory}`, { clock: systemClock })
    try {
      return await new CrashJudge().judge(driver, records)
    } finally {
      await driver.close()
    }
  } catch (error) {
    return [`does not open: ${(error as Error).message}`]
  }
}

export const playPowerCuts = async (
  t: Pick<Test, 'teardown'>,
  options: PowerCutOptions,
): Promise<PowerCuts> => {
  const directory = temporaryDirectory(t)
  const calls = await traceOf(directory, options)
  const disk = new TracedDisk(join(directory, 'db'))
  const records: CrashRecord[] = []
  const isRecord = ({ name, data }: (typeof calls)[number]) =>
    name === 'write' && data.toString('latin1', 0, 8) === '{"kind":'
  const first = calls.findIndex(isRecord)
  const mayBeLast = ({ name }: (typeof calls)[number]): boolean =>
    options.only === undefined || name === options.only
  let left = calls.slice(first).filter(mayBeLast).length
  let wanted = options.moments
  const problems: string[] = []
  let states = 0
  for (const [i, call] of calls.entries()) {
    if (isRecord(call)) records.push(...recordsIn(call.data))
    else disk.apply(call)
    if (first < 0 || i < first || !mayBeLast(call)) continue
    // Each is as likely as any other, and so many are looked at in the end.
    if (options.random() * left-- >= wanted) continue
    wanted--
    for (const state of disk.states()) {
      const cut = join(directory, 'cut')
      disk.restore(state, cut)
      states++
      const found = await judged(cut, records)
      problems.push(...found.map((problem) => `call ${i}, ${state}: ${problem}`))
      rmSync(cut, { recursive: true })
    }
  }
  const acknowledged = records.filter(({ kind }) => kind === 'done').length
  return { acknowledged, states, problems }
}
