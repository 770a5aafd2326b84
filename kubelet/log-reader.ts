/** `kubectl logs`: a log file as bytes, from where and in which form the options ask. */
import { type FileHandle, open, stat } from 'node:fs/promises'
import { limits } from '#limits'
import type { LogMark, LogMarks } from './runtime/process/log-times.js'
import type { LogOptions } from './runtime.js'
import { unlessGone } from './unless-gone.js'

const chunkBytes = 64 * 1024
const newline = 10

export interface LogSource {
  readonly file: string
  /** Offset to begin at, instead of what the options say. */
  readonly offset?: number
  /** What was noted of its times since notes were read up to `from`. */
  marks(from: number): LogMarks
  /** True once nothing will be written any more. */
  ended(): boolean
  /** Calls back whenever the log may have grown or the container has ended. Returns a function that stops that. */
  onChange(listener: () => void): () => void
}

/** Offset at which the last `lines` lines of the file begin. */
const tailOffset = async (file: FileHandle, size: number, lines: number): Promise<number> => {
  if (lines === 0) return size
  const buffer = Buffer.alloc(chunkBytes)
  let left = lines
  let end = size
  while (end > 0) {
    const start = Math.max(0, end - chunkBytes)
    const { bytesRead } = await file.read(buffer, 0, end - start, start)
    for (let i = bytesRead - 1; i >= 0; i--) {
      // The newline that ends the last line begins none.
      if (buffer[i] !== newline || start + i === size - 1) continue
      if (--left === 0) return start + i + 1
    }
    end = start
  }
  return 0
}

const nanoseconds = (time: number): string => `${new Date(time).toISOString().slice(0, -1)}000000Z`

const sinceOffset = (marks: readonly LogMark[], time: number): number => {
  let offset = 0
  for (const mark of marks) {
    if (mark.time >= time) return offset
    offset = mark.offset
  }
  return offset
}

/** Times of offsets that only grow: each note is read and passed once. */
class Times {
  readonly #source: Pick<LogSource, 'marks'>
  #read: LogMarks = { marks: [], end: 0 }
  #next = 0
  #last = 0

  constructor(source: Pick<LogSource, 'marks'>) {
    this.#source = source
  }

  /** Reads what was noted meanwhile, unless enough is known of what lies before this offset. */
  readUpTo(offset: number): void {
    const { marks, end } = this.#read
    if ((marks.at(-1)?.offset ?? 0) >= offset) return
    const more = this.#source.marks(end)
    this.#read = { marks: [...marks.slice(this.#next), ...more.marks], end: more.end }
    this.#next = 0
  }

  /** When the log was first seen to be longer, or was last seen. */
  at(offset: number): number {
    for (const { marks } = this.#read; this.#next < marks.length; this.#next++) {
      const { offset: to, time } = marks[this.#next]!
      if (to > offset) return time
      this.#last = time
    }
    return this.#last
  }
}

/** Puts its time before each line. Of a line that has no end yet, a beginning is kept for the next chunk. */
class Stamper {
  readonly #times: Times
  #rest = Buffer.alloc(0)
  #offset: number
  #atLineStart = true

  constructor(offset: number, source: LogSource) {
    this.#offset = offset
    this.#times = new Times(source)
  }

  stamp(chunk: Buffer, last: boolean): Buffer {
    const text = Buffer.concat([this.#rest, chunk])
    this.#times.readUpTo(this.#offset + text.length)
    const parts: Buffer[] = []
    let start = 0
    while (start < text.length) {
      const at = text.indexOf(newline, start)
      if (at < 0 && !last && text.length - start < limits.logLineBytesKept) break
      const end = at < 0 ? text.length : at + 1
      if (this.#atLineStart)
        parts.push(Buffer.from(`${nanoseconds(this.#times.at(this.#offset + start))} `))
      parts.push(text.subarray(start, end))
      this.#atLineStart = at >= 0
      start = end
    }
    this.#offset += start
    this.#rest = text.subarray(start)
    return Buffer.concat(parts)
  }
}

const startOffset = async (
  file: FileHandle,
  source: LogSource,
  { options, size }: { options: LogOptions; size: number },
): Promise<number> => {
  if (source.offset !== undefined) return source.offset
  let offset = 0
  if (options.sinceTime !== undefined)
    offset = sinceOffset(source.marks(0).marks, options.sinceTime)
  if (options.tailLines !== undefined) {
    offset = Math.max(offset, await tailOffset(file, size, options.tailLines))
  }
  return offset
}

/** Waits for a change that came since the last wait, or for the end of the signal. */
const changesOf = (source: LogSource, signal: AbortSignal) => {
  let changed = false
  let wake: (() => void) | undefined
  const notify = () => {
    changed = true
    wake?.()
  }
  const off = source.onChange(notify)
  signal.addEventListener('abort', notify)
  return {
    next: async () => {
      if (!changed) await new Promise<void>((resolve) => (wake = resolve))
      changed = false
      wake = undefined
    },
    stop: () => {
      off()
      signal.removeEventListener('abort', notify)
    },
  }
}

/** The file that has taken the place of the one that is open; undefined while none has. */
const successorOf = async (file: FileHandle, name: string): Promise<FileHandle | undefined> => {
  const there = await unlessGone(stat(name))
  if (there === undefined || there.ino === (await file.stat()).ino) return undefined
  return unlessGone(open(name, 'r'))
}

/** The file's bytes from `offset` on, and those of its successors, until the container has ended and all is read. */
async function* growingFile(
  file: FileHandle,
  source: LogSource,
  { offset, signal }: { offset: number; signal: AbortSignal },
): AsyncIterable<Buffer> {
  const buffer = Buffer.alloc(chunkBytes)
  const changes = changesOf(source, signal)
  let from = file
  let successor: FileHandle | undefined
  let at = offset
  try {
    while (!signal.aborted) {
      // Checked before reading, so that all that was written before the end is read.
      const ended = source.ended()
      const { bytesRead } = await from.read(buffer, 0, chunkBytes, at)
      if (bytesRead > 0) {
        at += bytesRead
        yield Buffer.from(buffer.subarray(0, bytesRead))
        continue
      }
      if (successor !== undefined) {
        if (from !== file) await from.close()
        from = successor
        successor = undefined
        at = 0
        continue
      }
      successor = await successorOf(from, source.file)
      if (ended && successor === undefined) return
      // What was about to be written into the old file has come until then.
      await changes.next()
      if ((await from.stat()).size < at) at = 0
    }
  } finally {
    changes.stop()
    if (from !== file) await from.close()
    await successor?.close()
  }
}

/** The file's bytes from `offset` up to `size`. */
async function* writtenPart(
  file: FileHandle,
  { offset, size, signal }: { offset: number; size: number; signal: AbortSignal },
): AsyncIterable<Buffer> {
  for (let at = offset; at < size && !signal.aborted; ) {
    const buffer = Buffer.alloc(Math.min(chunkBytes, size - at))
    const { bytesRead } = await file.read(buffer, 0, buffer.length, at)
    if (bytesRead === 0) return
    at += bytesRead
    yield buffer.subarray(0, bytesRead)
  }
}

export async function* readLog(
  source: LogSource,
  options: LogOptions,
  signal: AbortSignal,
): AsyncIterable<Buffer> {
  let file: FileHandle
  try {
    file = await open(source.file, 'r')
  } catch {
    return
  }
  try {
    const { size } = await file.stat()
    const offset = await startOffset(file, source, { options, size })
    const stamper = options.timestamps ? new Stamper(offset, source) : undefined
    let left = options.limitBytes ?? Number.POSITIVE_INFINITY
    const cut = (chunk: Buffer): Buffer => {
      const piece = chunk.length > left ? chunk.subarray(0, left) : chunk
      left -= piece.length
      return piece
    }
    // Without `follow` it stops at the size of now: more would exceed the last lines.
    const chunks = options.follow
      ? growingFile(file, source, { offset, signal })
      : writtenPart(file, { offset, size, signal })
    for await (const chunk of chunks) {
      const piece = cut(stamper ? stamper.stamp(chunk, false) : chunk)
      if (piece.length > 0) yield piece
      if (left <= 0) return
    }
    const rest = stamper ? cut(stamper.stamp(Buffer.alloc(0), true)) : undefined
    if (rest && rest.length > 0) yield rest
  } finally {
    await file.close()
  }
}
