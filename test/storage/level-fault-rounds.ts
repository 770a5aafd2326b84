/**
 * A writer process whose system calls fail, or whose disk is full. It goes on as clients do; afterwards the store is
 * opened again and must hold everything that was acknowledged, and nothing may have been acknowledged after a failure.
 */
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Test } from 'tap'
import { systemClock } from '#api/clock.js'
import { openStorage } from '#storage/open.js'
import { killGroup } from '../kill-group.js'
import { temporaryDirectory } from './level-fixture.js'
import { lost, type Newest, noteAcknowledged } from './lost-writes.js'
import { put, write } from './suite.js'

const writer = fileURLToPath(new URL('./fixtures/stubborn-writer.js', import.meta.url))

type Scope = Pick<Test, 'teardown'>

export interface FaultRound {
  readonly what: string
  /** False when the fault did not come: the round shows nothing. */
  readonly hit: boolean
  readonly acknowledged: number
  readonly problems: readonly string[]
}

/** A write that fails may be the one that wakes the writer's event loop: it says nothing more then, and is killed. */
const silenceMs = 20_000

const run = async (command: string, args: readonly string[]): Promise<string[]> => {
  const stdio = ['ignore', 'pipe', 'ignore'] as const
  // A group of its own: strace would leave the writer behind.
  const child = spawn(command, args, { stdio: [...stdio], detached: true })
  const hang = setTimeout(() => killGroup(child), silenceMs)
  let out = ''
  child.stdout.on('data', (chunk) => {
    out += chunk
    hang.refresh()
  })
  await once(child, 'close')
  clearTimeout(hang)
  return out.split('\n').slice(0, -1)
}

/** What the lines of the writer and the store after it say. */
const judge = async (directory: string, lines: readonly string[]) => {
  const newest: Newest = new Map()
  const problems: string[] = []
  const failed = lines.findIndex((line) => line.startsWith('!'))
  const acknowledged = lines.filter((line) => !line.startsWith('!'))
  for (const line of acknowledged) noteAcknowledged(newest, line)
  const after = failed < 0 ? [] : lines.slice(failed).filter((line) => !line.startsWith('!'))
  if (after.length > 0) problems.push(`${after.length} acknowledged after ${lines[failed]}`)
  try {
    const driver = await openStorage(`level:${directory}`, { clock: systemClock })
    problems.push(...(await lost(driver, newest)))
    await write(driver, put('/again', '1'))
    await driver.close()
  } catch (error) {
    problems.push(`does not open again: ${(error as Error).message}`)
  }
  return { acknowledged: acknowledged.length, problems, failed: failed >= 0 }
}

const calls = [
  { name: 'fdatasync', error: 'EIO', last: 60 },
  { name: 'fdatasync', error: 'ENOSPC', last: 60 },
  { name: 'write', error: 'EIO', last: 150 },
  { name: 'write', error: 'ENOSPC', last: 150 },
  { name: 'pwrite64', error: 'EIO', last: 60 },
  { name: 'fsync', error: 'EIO', last: 1 },
  { name: 'rename', error: 'EIO', last: 3 },
] as const

/** One system call of one kind fails once, at a place that `random` picks. */
export const playIoError = async (t: Scope, random: () => number): Promise<FaultRound> => {
  const { name, error, last } = calls[Math.floor(random() * calls.length)]!
  const when = 1 + Math.floor(random() * last)
  const directory = temporaryDirectory(t)
  const trace = join(directory, 'trace')
  const inject = ['-e', `trace=${name}`, '-e', `inject=${name}:error=${error}:when=${when}`]
  const writing = [process.execPath, writer, join(directory, 'db'), '300']
  const lines = await run('strace', ['-f', '-qq', '-o', trace, ...inject, ...writing])
  const hit = readFileSync(trace, 'utf8').includes('(INJECTED)')
  const { acknowledged, problems } = await judge(join(directory, 'db'), lines)
  return { what: `${name} ${when}: ${error}`, hit, acknowledged, problems }
}

/** A file system of a few megabytes that fills up, and has room again at the next start. Needs root. */
export const playDiskFull = async (t: Scope, random: () => number): Promise<FaultRound> => {
  const directory = temporaryDirectory(t)
  const kilobytes = 1_500 + Math.floor(random() * 2_500)
  const small = ['-t', 'tmpfs', '-o', `size=${kilobytes}k`, 'tmpfs', directory]
  if (spawnSync('mount', small).status !== 0) throw new Error('no right to mount')
  t.teardown(() => spawnSync('umount', ['-l', directory]))
  const lines = await run(process.execPath, [writer, join(directory, 'db'), '6000'])
  spawnSync('mount', ['-o', 'remount,size=64m', directory])
  const { acknowledged, problems, failed } = await judge(join(directory, 'db'), lines)
  return { what: `disk of ${kilobytes} KB full`, hit: failed, acknowledged, problems }
}
