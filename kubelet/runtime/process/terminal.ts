/** script(1) is the pseudo-terminal that every Linux has. What runs in it is its child, in a session of its own. */
import { execFile } from 'node:child_process'
import { readlinkSync } from 'node:fs'
import { setTimeout } from 'node:timers/promises'
import { limits } from '#limits'
import { hasProc, readProc } from './process-table.js'

const quoted = (word: string): string => `'${word.replaceAll("'", "'\\''")}'`

/** Its flags differ on macOS. */
export const inTerminal = (command: readonly string[]): string[] =>
  hasProc
    ? ['script', '-qefc', `exec ${command.map(quoted).join(' ')}`, '/dev/null']
    : ['script', '-q', '/dev/null', ...command]

/** Pid of what the script(1) of this pid runs; undefined where the system does not tell. */
export const processInTerminal = (script: number): number | undefined => {
  const children = readProc(`/proc/${script}/task/${script}/children`) ?? ''
  return Number.parseInt(children, 10) || undefined
}

/** How often it is looked for a terminal that script(1) has yet to make. */
const terminalIntervalMs = 20

const terminalOf = (script: number): string | undefined => {
  try {
    const terminal = readlinkSync(`/proc/${processInTerminal(script)}/fd/0`)
    return terminal.startsWith('/dev/pts/') ? terminal : undefined
  } catch {
    return undefined
  }
}

/** Sets the size of the terminal of that script(1), which may just have been started. */
export const resizeTerminal = async (
  script: number,
  columns: number,
  rows: number,
): Promise<void> => {
  const end = performance.now() + limits.terminalStartMsMax
  let terminal = terminalOf(script)
  while (terminal === undefined && performance.now() < end) {
    await setTimeout(terminalIntervalMs, undefined, { ref: false })
    terminal = terminalOf(script)
  }
  if (terminal === undefined) return
  execFile('stty', ['-F', terminal, 'cols', String(columns), 'rows', String(rows)], () => {})
}
