/** A process that is ended, and started again in the same way. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync } from 'node:fs'
import { eventually } from '../eventually.js'

interface DaemonOptions {
  readonly file: string
  readonly args: readonly string[]
  /** What it says is kept here. */
  readonly log: string
  readonly isUp: () => Promise<boolean> | boolean
  /** Learns by a channel when this process was killed, and ends too. */
  readonly isOurs?: boolean
}

export class Daemon {
  readonly #options: DaemonOptions
  #child: ChildProcess | undefined

  constructor(options: DaemonOptions) {
    this.#options = options
  }

  /** With more flags, for once. */
  async start(flags: readonly string[] = []): Promise<void> {
    const { file, args, log, isUp, isOurs } = this.#options
    const out = openSync(log, 'a')
    const child = spawn(file, [...args, ...flags], {
      stdio: ['ignore', out, out, ...(isOurs ? (['ipc'] as const) : [])],
    })
    closeSync(out)
    this.#child = child
    await eventually(`${file}, see ${log}`, () => {
      if (child.exitCode !== null) throw new Error(`${file} has ended, see ${log}`)
      return isUp()
    })
  }

  async stop(signal: NodeJS.Signals = 'SIGTERM'): Promise<void> {
    const child = this.#child
    this.#child = undefined
    if (!child || child.exitCode !== null || child.signalCode !== null) return
    const gone = once(child, 'exit')
    child.kill(signal)
    await gone
  }
}
