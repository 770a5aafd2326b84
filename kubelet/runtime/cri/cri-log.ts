/** Reads logs as a runtime writes them: `TIME STREAM P|F text` for each line, P for a part of a line. */
import { type LogSource, readLog } from '../../log-reader.js'
import type { LogOptions } from '../../runtime.js'

const newline = 10
const space = 32
const partTag = 80 // P

interface Entry {
  readonly time: string
  /** Bytes, whatever they mean; with its newline, but for a part of a line that goes on. */
  readonly text: Buffer
}

const readEntry = (line: Buffer): Entry => {
  const afterTime = line.indexOf(space) + 1
  const tagAt = line.indexOf(space, afterTime) + 1
  const textAt = line.indexOf(space, tagAt) + 1
  const isPart = line[tagAt] === partTag
  return {
    time: line.toString('latin1', 0, afterTime - 1),
    text: line.subarray(textAt, isPart ? -1 : undefined),
  }
}

/** Writes the time before each line, but not before the rest of a partial one. */
class Writer {
  readonly #options: LogOptions
  #atLineStart = true

  constructor(options: LogOptions) {
    this.#options = options
  }

  write({ time, text }: Entry): Buffer[] {
    const { timestamps, sinceTime } = this.#options
    const stamp = timestamps && this.#atLineStart ? [Buffer.from(`${time} `)] : []
    this.#atLineStart = text.length === 0 || text.at(-1) === newline
    return sinceTime !== undefined && Date.parse(time) < sinceTime ? [] : [...stamp, text]
  }
}

export async function* readCriLog(
  source: LogSource,
  options: LogOptions,
  signal: AbortSignal,
): AsyncIterable<Buffer> {
  const whole = { ...options, timestamps: false, sinceTime: undefined, limitBytes: undefined }
  const writer = new Writer(options)
  let rest = Buffer.alloc(0)
  let left = options.limitBytes ?? Number.POSITIVE_INFINITY
  for await (const chunk of readLog(source, whole, signal)) {
    const bytes = Buffer.concat([rest, chunk])
    const parts: Buffer[] = []
    let start = 0
    for (let at = bytes.indexOf(newline); at >= 0; at = bytes.indexOf(newline, start)) {
      parts.push(...writer.write(readEntry(bytes.subarray(start, at + 1))))
      start = at + 1
    }
    rest = Buffer.from(bytes.subarray(start))
    const piece = Buffer.concat(parts).subarray(0, left)
    left -= piece.length
    if (piece.length > 0) yield piece
    if (left <= 0) return
  }
}
