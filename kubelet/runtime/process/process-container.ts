/** One container of the process runtime: its state, from its files, and those who wait for a change. */
import type { Container } from '../../runtime.js'
import type { ContainerFiles, ContainerRecord } from './container-files.js'
import { isAlive, kill, type ProcessIdentity, signal } from './process-table.js'
import { processInTerminal, resizeTerminal } from './terminal.js'

/** A shim that has not reported a start within this time has been killed or cannot fork. */
const startTimeoutMs = 20_000

export class ProcessContainer {
  readonly record: ContainerRecord
  readonly #files: ContainerFiles
  #view: Container
  #main: ProcessIdentity | undefined
  #shim: ProcessIdentity | undefined
  /** Its shim is on its way. */
  starting = false
  /** Environment for exec; lost with the kubelet, then read from /proc. */
  env: NodeJS.ProcessEnv | undefined
  readonly #waiting = new Set<() => void>()

  constructor(record: ContainerRecord, files: ContainerFiles) {
    this.record = record
    this.#files = files
    const { config } = record
    this.#view = {
      id: record.id,
      sandboxId: record.sandboxId,
      pod: record.pod,
      name: config.name,
      attempt: config.attempt,
      image: config.image,
      imageId: config.imageId,
      hash: config.hash,
      state: 'created',
      createdAt: record.createdAt,
      startedAt: 0,
      finishedAt: 0,
      exitCode: 0,
      reason: '',
      message: '',
      halted: false,
      pid: undefined,
      logPath: files.log(record.id),
    }
  }

  get view(): Container {
    return this.#view
  }
  get exited(): boolean {
    return this.#view.state === 'exited'
  }

  /** A shim is on its way. Calls `late` if it does not report in time, which must end the container. */
  async untilStarted(late: () => void): Promise<void> {
    const hasBegun = () => this.#view.state !== 'created'
    if (hasBegun()) return
    this.starting = true
    const timer = setTimeout(() => {
      if (!hasBegun()) late()
    }, startTimeoutMs).unref()
    await this.until(hasBegun)
    // What a late timer holds would be kept for as long as that takes.
    clearTimeout(timer)
  }

  /** Reads what the shim has written; true if the state has changed. */
  refresh(): boolean {
    if (this.exited) return false
    const before = this.#view.state
    if (this.#main === undefined) this.#readPids()
    const exit = this.#files.exit(this.record.id)
    if (exit) {
      this.starting = false
      this.#view = {
        ...this.#view,
        state: 'exited',
        ...exit,
        startedAt: this.#view.startedAt || exit.finishedAt,
        halted: this.#files.isHalted(this.record.id),
        pid: undefined,
      }
    }
    if (this.#view.state === before) return false
    for (const wake of [...this.#waiting]) wake()
    return true
  }

  #readPids(): void {
    const pids = this.#files.pids(this.record.id)
    if (!pids) return
    this.#main = pids.main
    this.#shim = pids.shim
    this.starting = false
    this.#view = {
      ...this.#view,
      state: 'running',
      startedAt: pids.startedAt,
      pid: pids.main.pid,
    }
  }

  /** True if no process is left that could write the exit code. */
  isLost(): boolean {
    if (this.exited) return false
    if (this.#main && isAlive(this.#main)) return false
    const shim = this.#shim ?? { pid: this.#files.claimant(this.record.id), startTime: '' }
    return shim.pid === 0 ? this.#main !== undefined : !isAlive(shim)
  }

  /** To the main process alone, as a container's PID 1 gets it. */
  signal(name: NodeJS.Signals): void {
    if (!this.#main || !isAlive(this.#main)) return
    const { pid } = this.#main
    // script(1) would pass on SIGTERM alone, and kill two seconds later.
    signal((this.record.config.tty ? processInTerminal(pid) : undefined) ?? pid, name)
  }

  resize(columns: number, rows: number): void {
    if (this.record.config.tty && this.#main) resizeTerminal(this.#main.pid, columns, rows)
  }

  /** SIGKILL to the main process and its group; the shim ends the group too, unless it was killed itself. */
  kill(): void {
    if (!this.#main || !isAlive(this.#main)) return
    kill(-this.#main.pid)
    kill(this.#main.pid)
  }

  /** Resolves when it holds, which is looked at whenever the state is another one. */
  until(holds: () => boolean): Promise<void> {
    if (holds()) return Promise.resolve()
    return new Promise((resolve) => {
      const wake = () => {
        if (!holds()) return
        this.#waiting.delete(wake)
        resolve()
      }
      this.#waiting.add(wake)
    })
  }
}
