/**
 * Identities of processes. A pid alone is not enough, because pids are reused: with the start time from /proc it is
 * unique until the next boot, and with the boot id for ever. Without /proc (macOS) the pid has to do.
 */
import { closeSync, openSync, readdirSync, readSync } from 'node:fs'

/** Name of the variable by which a container's processes are found wherever they have moved to. */
export const markerName = 'KUBELEVEL_CONTAINER_ID'

export interface ProcessIdentity {
  readonly pid: number
  /** Field 22 of /proc/PID/stat, clock ticks since boot; empty where there is no /proc. */
  readonly startTime: string
}

// Files of /proc tell no size, and readFileSync takes 64 KiB for each of them.
const scratch = Buffer.allocUnsafeSlow(64 * 1024)

/** A file of /proc, byte by byte as Latin-1; undefined when it cannot be read. */
export const readProc = (file: string): string | undefined => {
  let fd: number | undefined
  try {
    fd = openSync(file, 'r')
    let text = ''
    for (;;) {
      const length = readSync(fd, scratch, 0, scratch.length, null)
      if (length === 0) return text
      text += scratch.toString('latin1', 0, length)
    }
  } catch {
    return undefined
  } finally {
    if (fd !== undefined) closeSync(fd)
  }
}

export const bootId = (): string => (readProc('/proc/sys/kernel/random/boot_id') ?? '').trim()

/** The fields after the command name, which may itself hold blanks and parentheses; [0] is the state. */
export const statFields = (stat: string): string[] =>
  stat.slice(stat.lastIndexOf(')') + 2).split(' ')

/** Start time out of the text of /proc/PID/stat. */
export const startTimeOf = (stat: string): string =>
  stat === '' ? '' : (statFields(stat)[19] ?? '')

export const hasProc = readProc('/proc/self/stat') !== undefined

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
  const stat = readProc(`/proc/${pid}/stat`)
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

/**
 * SIGKILL to a process or, negative, a group. What has become another user's (sudo) is out of reach of a kubelet that is not
 * root, which must not end for that.
 */
export const kill = (pid: number): void => {
  try {
    signal(pid, 'SIGKILL')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EPERM') throw error
  }
}

/** The environment that a process was started with; undefined when it cannot be read. */
export const environmentOf = (pid: number | undefined): Record<string, string> | undefined => {
  const text = readProc(`/proc/${pid}/environ`)
  if (text === undefined) return undefined
  // Read byte by byte as Latin-1: what was UTF-8 becomes it again.
  const pairs = Buffer.from(text, 'latin1').toString('utf8').split('\0')
  return Object.fromEntries(
    pairs
      .filter((pair) => pair.includes('='))
      .map((pair) => [pair.slice(0, pair.indexOf('=')), pair.slice(pair.indexOf('=') + 1)]),
  )
}

interface MarkedProcess {
  readonly pid: number
  readonly containerId: string
}

/** The container that a process was started for, by the marker in its first environment. */
export const containerIdOf = (pid: string): string | undefined => {
  const environment = readProc(`/proc/${pid}/environ`)
  if (!environment) return undefined
  const at = environment.indexOf(`${markerName}=`)
  if (at < 0 || (at > 0 && environment[at - 1] !== '\0')) return undefined
  const end = environment.indexOf('\0', at)
  return environment.slice(at + markerName.length + 1, end < 0 ? undefined : end)
}

/** Every process on the host that carries a container's marker. */
export const markedProcesses = (): MarkedProcess[] => {
  if (!hasProc) return []
  return readdirSync('/proc').flatMap((entry) => {
    const containerId = /^\d+$/.test(entry) ? containerIdOf(entry) : undefined
    return containerId === undefined ? [] : [{ pid: Number(entry), containerId }]
  })
}
