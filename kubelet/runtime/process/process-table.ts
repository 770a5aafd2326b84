/**
 * Who a process is. A pid alone is no identity, because pids are used again: with the start time from /proc it is
 * one until the next boot, and with the boot id for ever. Where there is no /proc (macOS) the pid has to do.
 */
import { readdirSync, readFileSync } from 'node:fs'

/** Name of the variable by which a container's processes are found wherever they have moved to. */
export const markerName = 'KUBELEVEL_CONTAINER_ID'

export interface ProcessIdentity {
  readonly pid: number
  /** Field 22 of /proc/PID/stat, clock ticks since boot; empty where there is no /proc. */
  readonly startTime: string
}

const readOr = (file: string): string | undefined => {
  try {
    return readFileSync(file, 'latin1')
  } catch {
    return undefined
  }
}

export const bootId = (): string => (readOr('/proc/sys/kernel/random/boot_id') ?? '').trim()

/** The fields after the command name, which may itself hold blanks and parentheses; [0] is the state. */
const statFields = (stat: string): string[] => stat.slice(stat.lastIndexOf(')') + 2).split(' ')

/** Start time out of the text of /proc/PID/stat. */
export const startTimeOf = (stat: string): string =>
  stat === '' ? '' : (statFields(stat)[19] ?? '')

export const hasProc = readOr('/proc/self/stat') !== undefined

const signalReaches = (pid: number): boolean => {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

/** False for zombies too: what has ended only waits for its parent. */
export const isAlive = ({ pid, startTime }: ProcessIdentity): boolean => {
  if (!signalReaches(pid)) return false
  if (!hasProc) return true
  const stat = readOr(`/proc/${pid}/stat`)
  if (stat === undefined) return false
  const state = statFields(stat)[0]
  if (state === 'Z' || state === 'X') return false
  return startTime === '' || startTimeOf(stat) === startTime
}

/** Sends a signal to one process (or with a negative pid to a group); a process that is gone is no error. */
export const signal = (pid: number, name: NodeJS.Signals): void => {
  try {
    process.kill(pid, name)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}

/** The environment that a process was started with; undefined when it cannot be read. */
export const environmentOf = (pid: number | undefined): Record<string, string> | undefined => {
  const text = readOr(`/proc/${pid}/environ`)
  if (text === undefined) return undefined
  // Read byte by byte as Latin-1: what was UTF-8 becomes it again.
  const pairs = Buffer.from(text, 'latin1').toString('utf8').split('\0')
  return Object.fromEntries(
    pairs
      .filter((pair) => pair.includes('='))
      .map((pair) => [pair.slice(0, pair.indexOf('=')), pair.slice(pair.indexOf('=') + 1)]),
  )
}

export interface MarkedProcess {
  readonly pid: number
  readonly containerId: string
}

/** Every process on the host that carries a container's marker in its first environment. */
export const markedProcesses = (): MarkedProcess[] => {
  if (!hasProc) return []
  const found: MarkedProcess[] = []
  for (const entry of readdirSync('/proc')) {
    if (!/^\d+$/.test(entry)) continue
    const environment = readOr(`/proc/${entry}/environ`)
    if (!environment) continue
    const at = environment.indexOf(`${markerName}=`)
    if (at < 0 || (at > 0 && environment[at - 1] !== '\0')) continue
    const end = environment.indexOf('\0', at)
    const containerId = environment.slice(at + markerName.length + 1, end < 0 ? undefined : end)
    found.push({ pid: Number(entry), containerId })
  }
  return found
}

const clockTicksPerSecond = 100
const pageBytes = 4096

/**
 * CPU time and resident memory of these processes, summed by container. Time of children that ended counts as their
 * parent's, who waited for them: without it a shell that runs one short command after the other would use nothing.
 */
export const usageBy = (
  marked: readonly MarkedProcess[],
): Map<string, { cpuNanoseconds: number; memoryBytes: number }> => {
  const sums = new Map<string, { cpuNanoseconds: number; memoryBytes: number }>()
  for (const { pid, containerId } of marked) {
    const stat = readOr(`/proc/${pid}/stat`)
    if (stat === undefined) continue
    const fields = statFields(stat)
    const ticks = [11, 12, 13, 14].reduce((sum, at) => sum + Number(fields[at]), 0)
    const sum = sums.get(containerId) ?? { cpuNanoseconds: 0, memoryBytes: 0 }
    sums.set(containerId, {
      cpuNanoseconds: sum.cpuNanoseconds + (ticks * 1e9) / clockTicksPerSecond,
      memoryBytes: sum.memoryBytes + Number(fields[21]) * pageBytes,
    })
  }
  return sums
}
