/**
 * The audit log as a file: a line for each event, written before the request goes on. A file of the maximum size is
 * renamed by its time, and old ones are removed as by lumberjack, with which kube-apiserver writes.
 */
import {
  closeSync,
  existsSync,
  fstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  renameSync,
  rmSync,
  writeSync,
} from 'node:fs'
import { readFile, rm, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import type { Clock } from '#api/clock.js'
import type { AuditRecord, LogFormat } from './audit-record.js'
import type { AuditSink } from './sink.js'

export interface LogFileOptions {
  readonly path: string
  readonly format: LogFormat
  /** Megabytes; 0 never begins a new one. */
  readonly maxSize: number
  /** How many old files are kept, and for how many days; 0 is no bound. */
  readonly maxBackups: number
  readonly maxAge: number
  readonly compress: boolean
}

interface LogFileDeps {
  readonly clock: Clock
  readonly warn: (message: string, error: unknown) => void
}

const megabyte = 1024 * 1024
const dayMs = 24 * 60 * 60 * 1000
const compressed = promisify(gzip)

/** `2006-01-02T15-04-05.000`, in UTC. */
const stampOf = (ms: number): string => new Date(ms).toISOString().slice(0, 23).replaceAll(':', '-')

const timeOf = (stamp: string): number =>
  Date.parse(`${stamp.slice(0, 11)}${stamp.slice(11).replaceAll('-', ':')}Z`)

interface Backup {
  readonly file: string
  readonly at: number
}

export class LogFile implements AuditSink {
  readonly #options: LogFileOptions
  readonly #deps: LogFileDeps
  /** Undefined once it is closed: its number may then be that of another file. */
  #fd: number | undefined
  #bytes = 0
  #tidying: Promise<void> = Promise.resolve()

  /** Throws if the file cannot be written. */
  constructor(options: LogFileOptions, deps: LogFileDeps) {
    this.#options = options
    this.#deps = deps
    this.#fd = this.#open()
    this.#tidyLater()
  }

  take(records: readonly AuditRecord[]): boolean {
    let isKept = true
    for (const record of records) {
      const line = record.lineOf(this.#options.format)
      isKept = this.#write(Buffer.from(line)) && isKept
    }
    return isKept
  }

  async close(): Promise<void> {
    await this.#tidying
    if (this.#fd !== undefined) closeSync(this.#fd)
    this.#fd = undefined
  }

  #write(line: Buffer): boolean {
    const { maxSize } = this.#options
    try {
      if (this.#fd === undefined) throw new Error('the log is closed')
      if (maxSize > 0) {
        const bytesMax = maxSize * megabyte
        if (line.length > bytesMax)
          throw new Error(`write length ${line.length} exceeds maximum file size ${bytesMax}`)
        if (this.#bytes + line.length > bytesMax) this.#rotate()
      }
      for (let at = 0; at < line.length; ) at += writeSync(this.#fd, line, at)
      this.#bytes += line.length
      return true
    } catch (error) {
      this.#deps.warn('an audit event was not written', error)
      return false
    }
  }

  #open(): number {
    const { path: file } = this.#options
    mkdirSync(path.dirname(file), { recursive: true, mode: 0o700 })
    const fd = openSync(file, 'a', 0o600)
    this.#bytes = fstatSync(fd).size
    return fd
  }

  #rotate(): void {
    const { path: file } = this.#options
    if (existsSync(file)) renameSync(file, this.#backupName(this.#deps.clock.now()))
    // Closed last: if no new file can be opened, further events still go to the old one.
    const old = this.#fd!
    this.#fd = this.#open()
    closeSync(old)
    this.#tidyLater()
  }

  /** Also at the start: the process before may have ended before it was done, or was told to keep more. */
  #tidyLater(): void {
    this.#tidying = this.#tidying.then(() => this.#tidy())
  }

  /** Two files of one millisecond must not overwrite each other. */
  #backupName(at: number): string {
    const { dir, name, ext } = path.parse(this.#options.path)
    const candidate = path.join(dir, `${name}-${stampOf(at)}${ext}`)
    return existsSync(candidate) ? this.#backupName(at + 1) : candidate
  }

  /** The newest first. */
  #backups(): Backup[] {
    const { dir, name, ext } = path.parse(this.#options.path)
    return readdirSync(dir || '.')
      .filter((file) => file.startsWith(`${name}-`))
      .map((file) => {
        const stamp = file
          .slice(name.length + 1)
          .replace(/\.gz$/, '')
          .slice(0, 23)
        const isOurs = file === `${name}-${stamp}${ext}` || file === `${name}-${stamp}${ext}.gz`
        return { file: path.join(dir, file), at: isOurs ? timeOf(stamp) : Number.NaN }
      })
      .filter(({ at }) => !Number.isNaN(at))
      .sort((a, b) => b.at - a.at)
  }

  async #tidy(): Promise<void> {
    const { maxBackups, maxAge, compress } = this.#options
    const oldest = maxAge === 0 ? Number.NEGATIVE_INFINITY : this.#deps.clock.now() - maxAge * dayMs
    try {
      for (const [i, { file, at }] of this.#backups().entries()) {
        if ((maxBackups > 0 && i >= maxBackups) || at < oldest) rmSync(file, { force: true })
        else if (compress && !file.endsWith('.gz')) await pack(file)
      }
    } catch (error) {
      this.#deps.warn('old audit logs were not put in order', error)
    }
  }
}

const pack = async (file: string): Promise<void> => {
  const packed = `${file}.gz`
  await writeFile(packed, await compressed(await readFile(file)), { mode: 0o600 })
  await rm(file)
}
