/** Commands beside a container: what exec, attach, exec probes and hooks run on. */
import { type ChildProcess, spawn } from 'node:child_process'
import { constants } from 'node:os'
import type { Readable } from 'node:stream'
import type { Session, SessionOptions } from '../../runtime.js'
import { kill, markedProcesses, markerName } from './process-table.js'
import { inTerminal, resizeTerminal } from './terminal.js'

interface SessionCommand {
  readonly containerId: string
  readonly command: readonly string[]
  readonly env: NodeJS.ProcessEnv
  readonly workingDir: string
}

/** Output that is still in the pipe when a command has ended gets this long to arrive. */
const leftoverOutputMs = 200

const exitCodeOf = (code: number | null, name: NodeJS.Signals | null): number =>
  code ?? 128 + (name === null ? 0 : constants.signals[name])

export const startSession = (
  { containerId, command, env, workingDir }: SessionCommand,
  { stdin, tty }: SessionOptions,
): Session => {
  const [file = '', ...args] = tty ? inTerminal(command) : command
  const child = spawn(file, args, {
    cwd: workingDir,
    env: { ...env, ...(tty ? { TERM: env.TERM ?? 'xterm' } : {}), [markerName]: containerId },
    detached: true,
    stdio: [stdin ? 'pipe' : 'ignore', 'pipe', 'pipe'],
  })
  child.stdin?.on('error', () => {
    // The command has closed its input; its exit code tells the rest.
  })
  const done = new Promise<number>((resolve, reject) => {
    child.once('error', reject)
    child.once('close', (code, name) => resolve(exitCodeOf(code, name)))
    // What it left in the background may hold its output open for ever.
    child.once('exit', (code, name) =>
      setTimeout(() => resolve(exitCodeOf(code, name)), leftoverOutputMs).unref(),
    )
  })
  // Whoever does not wait for the end must not crash the kubelet by it.
  done.catch(() => {})
  const { pid } = child
  // What it has left behind is its container's, and its pid soon somebody else's.
  const hasEnded = () => child.exitCode !== null || child.signalCode !== null
  return {
    stdin: child.stdin ?? undefined,
    stdout: child.stdout ?? undefined,
    stderr: child.stderr ?? undefined,
    done,
    resize: (columns, rows) => {
      if (tty && pid !== undefined) resizeTerminal(pid, columns, rows)
    },
    kill: () => {
      if (pid !== undefined && !hasEnded()) kill(-pid)
    },
  }
}

/**
 * A session on the main process: its output is the log's growth, its input what `writer` takes to it. `letGo` ends the
 * wait for more of the log, without which its end would wait for that, too.
 */
export const attachSession = (
  output: Readable,
  writer: ChildProcess | undefined,
  { done, resize, letGo }: { done: Promise<void>; resize: Session['resize']; letGo: () => void },
): Session => ({
  stdin: writer?.stdin ?? undefined,
  stdout: output,
  stderr: undefined,
  done: done.then(() => 0),
  resize,
  kill: () => {
    writer?.kill('SIGKILL')
    letGo()
    output.destroy()
  },
})

/**
 * Ends every process that carries the marker of one of these containers, wherever it has moved to: a child that has
 * made itself a session of its own is not in the group that the shim kills.
 */
export const killMarked = (isWanted: (containerId: string) => boolean): number => {
  const found = markedProcesses().filter(({ containerId }) => isWanted(containerId))
  for (const { pid } of found) kill(pid)
  return found.length
}
