/**
 * A container writes straight into its log file, so that neither a slow nor a dead kubelet ever blocks it. What the
 * file lacks is the time of each line: this notes, whenever a log has grown, up to where and when, in a small file
 * beside it. One watch on the folder serves all containers.
 */
import { EventEmitter } from 'node:events'
import { type FSWatcher, readFileSync, statSync, watch } from 'node:fs'
import { appendFile, copyFile, rm, truncate } from 'node:fs/promises'
import path from 'node:path'
import type { Clock } from '#api/clock.js'
import { limits } from '#limits'

/** A log that grows all the time is looked at this often. */
const noteIntervalMs = 20

export interface LogMark {
  /** Bytes before this offset were written at `time` or earlier. */
  readonly offset: number
  readonly time: number
}

export class LogTimes {
  readonly #folder: string
  readonly #clock: Clock
  readonly #sizes = new Map<string, number>()
  readonly #waiting = new Set<string>()
  readonly #grown = new EventEmitter().setMaxListeners(0)
  #watcher: FSWatcher | undefined

  constructor(folder: string, clock: Clock) {
    this.#folder = folder
    this.#clock = clock
  }

  open(ids: Iterable<string>): void {
    this.#watcher = watch(this.#folder, (_, file) => {
      if (file?.endsWith('.log')) this.#changed(file.slice(0, -'.log'.length))
    })
    for (const id of ids) this.#changed(id)
  }

  close(): void {
    this.#watcher?.close()
    this.#watcher = undefined
  }

  forget(id: string): void {
    this.#sizes.delete(id)
  }

  /** Calls back whenever the log may have grown; yields the way to stop that. */
  onGrowth(id: string, listener: () => void): () => void {
    this.#grown.on(id, listener)
    return () => this.#grown.off(id, listener)
  }

  /** Where the log stood when, oldest first. */
  marks(id: string): LogMark[] {
    const marks: LogMark[] = []
    for (const line of this.#read(id).split('\n')) {
      const [offset, time] = line.split(' ').map(Number)
      if (offset && time) marks.push({ offset, time })
    }
    return marks
  }

  #read(id: string): string {
    try {
      return readFileSync(path.join(this.#folder, `${id}.times`), 'utf8')
    } catch {
      return ''
    }
  }

  #changed(id: string): void {
    if (this.#waiting.has(id)) return
    this.#waiting.add(id)
    // A moment later, so that a burst of lines is one mark.
    setTimeout(() => {
      this.#waiting.delete(id)
      this.#note(id).catch(() => {
        // The container was removed in the meantime.
      })
    }, noteIntervalMs).unref()
  }

  async #note(id: string): Promise<void> {
    const file = path.join(this.#folder, `${id}.log`)
    const size = statSync(file, { throwIfNoEntry: false })?.size
    if (size === undefined) return
    const before = this.#sizes.get(id) ?? this.marks(id).at(-1)?.offset ?? 0
    if (size === before) return
    this.#sizes.set(id, size)
    if (size < before) await rm(path.join(this.#folder, `${id}.times`), { force: true })
    await appendFile(path.join(this.#folder, `${id}.times`), `${size} ${this.#clock.now()}\n`)
    this.#grown.emit(id)
    if (size > limits.containerLogBytesMax) await this.#rotate(id, file)
  }

  async #rotate(id: string, file: string): Promise<void> {
    await copyFile(file, `${file}.1`)
    // The container holds the file open for appending: it goes on at the new beginning.
    await truncate(file, 0)
    await rm(path.join(this.#folder, `${id}.times`), { force: true })
    this.#sizes.set(id, 0)
  }
}
