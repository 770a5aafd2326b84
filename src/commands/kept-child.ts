/** A child process of `kubelevel up`: started again when it ends, or when the system would not start it. */
import { type ChildProcess, spawn } from 'node:child_process'
import type { Machine } from './machine.js'

const restartDelayMinMs = 500
const restartDelayMaxMs = 30_000
/** A child that lived this long starts again without delay. */
const healthyAfterMs = 60_000
const childStopMs = 10_000

interface Child {
  /** Ends it with SIGTERM, with SIGKILL when it does not listen; resolves when it is gone. */
  stop(): Promise<void>
}

/** Keeps one child alive. It gets its own process group, so that Ctrl-C reaches it through us and in our order. */
export const keepRunning = (machine: Machine, name: string, args: readonly string[]): Child => {
  let stopping = false
  let delayMs = restartDelayMinMs
  let timer: NodeJS.Timeout | undefined
  let child: ChildProcess | undefined
  let gone: () => void = () => {}
  const ended = new Promise<void>((resolve) => {
    gone = resolve
  })
  const startAgain = (startedAt: number, how: string): void => {
    child = undefined
    if (stopping) {
      gone()
      return
    }
    if (machine.now() - startedAt > healthyAfterMs) delayMs = restartDelayMinMs
    machine.stderr(`kubelevel up: ${name} ${how}, again in ${delayMs} ms\n`)
    timer = setTimeout(start, delayMs)
    delayMs = Math.min(delayMs * 2, restartDelayMaxMs)
  }
  const start = (): void => {
    const startedAt = machine.now()
    const notStarted = (error: Error): void =>
      startAgain(startedAt, `was not started (${error.message})`)
    try {
      // The IPC channel tells a child that we are gone, however we went.
      const started = spawn(machine.nodePath, [machine.mainFile, name, ...args], {
        stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
        detached: true,
      })
      // To signal one that has no pid would be to signal our own process group.
      if (started.pid === undefined) {
        started.once('error', notStarted)
        return
      }
      child = started
      child.on('error', (error) => machine.stderr(`kubelevel up: ${name}: ${error.message}\n`))
      child.once('close', (code, signal) =>
        startAgain(startedAt, `ended (${signal ?? `exit ${code}`})`),
      )
    } catch (error) {
      // Node throws what is neither a missing file nor a lack of descriptors or processes: ENOMEM, for one.
      notStarted(error as Error)
    }
  }
  start()
  return {
    stop: async () => {
      stopping = true
      clearTimeout(timer)
      if (child === undefined) return
      child.kill('SIGTERM')
      const force = setTimeout(() => child?.kill('SIGKILL'), childStopMs)
      await ended
      clearTimeout(force)
    },
  }
}
