/**
 * A container writes straight into its log file, so that neither a slow nor a dead kubelet ever blocks it. What the
 * file lacks is the time of each line: this notes, whenever a log has grown, up to where and when, in a small file
 * beside it. One watch on the folder serves all containers.
 */
import { EventEmitter } from 'node:events'
import { closeSync, type FSWatcher, fstatSync, openSync, readSync, statSync, watch } from 'node:fs'
import { appendFile, copyFile, rm, truncate } from 'node:fs/promises'
import path from 'node:path'
import type { Clock } from '#api/clock.js'
import { limits } from '#limits'
import { rotatedLog } from '../../rotated-log.js'

/** A log that grows all the time is looked at this often. */
const noteIntervalMs = 20

export interface LogMark {
  /** Bytes before this offset were written at `time` or earlier. */
  readonly offset: number
  readonly time: number
}

export interface LogMarks {
  readonly marks: readonly LogMark[]
  /** Up to where notes were read. */
  readonly end: number
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

  /** Where the log stood when, oldest first: what was noted since notes were read up to `from`. */
  marks(id: string, from = 0): LogMarks {
    const marks: LogMark[] = []
    const { text, end } = this.#read(id, from)
    for (const line of text.split('\n')) {
      const [offset, time] = line.split(' ').map(Number)
      if (offset && time) marks.push({ offset, time })
    }
    return { marks, end }
  }

  #read(id: string, from: number): { text: string; end: number } {
    let fd: number | undefined
    try {
      fd = openSync(path.join(this.#folder, `${id}.times`), 'r')
      const { size } = fstatSync(fd)
      // The log was rotated, and its notes begin anew.
      const start = size < from ? 0 : from
      const bytes = Buffer.alloc(size - start)
      const text = bytes.toString('latin1', 0, readSync(fd, bytes, 0, bytes.length, start))
      return { text, end: start + text.length }
    } catch {
      return { text: '', end: from }
    } finally {
      if (fd !== undefined) closeSync(fd)
    }
  }

  #changed(id: string): void {
    if (this.#watcher === undefined || this.#waiting.has(id)) return
    this.#waiting.add(id)
    // A moment later, so that a burst of lines is one mark.
    setTimeout(async () => {
      // The container may have been removed in the meantime.
      const isNoted = await this.#note(id).catch(() => false)
      this.#waiting.delete(id)
      // It may have grown while it was noted, or rotated.
      if (isNoted) this.#changed(id)
    }, noteIntervalMs).unref()
  }

  /** False if there is nothing new. */
  async #note(id: string): Promise<boolean> {
    const file = path.join(this.#folder, `${id}.log`)
    const size = statSync(file, { throwIfNoEntry: false })?.size
    const before = this.#sizes.get(id) ?? this.marks(id).marks.at(-1)?.offset ?? 0
    if (size === undefined || size === before) return false
    this.#sizes.set(id, size)
    if (size < before) await rm(path.join(this.#folder, `${id}.times`), { force: true })
    await appendFile(path.join(this.#folder, `${id}.times`), `${size} ${this.#clock.now()}\n`)
    this.#grown.emit(id)
    if (size > limits.containerLogBytesMax) await this.#rotate(id, file)
    return true
  }

  async #rotate(id: string, file: string): Promise<void> {
    await copyFile(file, rotatedLog(file))
    // The container holds the file open for appending: it goes on at the new beginning.
    await truncate(file, 0)
    await rm(path.join(this.#folder, `${id}.times`), { force: true })
    this.#sizes.set(id, 0)
  }
}
