/** Logs as a runtime writes them: `TIME STREAM P|F text`, one line a line, P for a part of one. */
import { type LogSource, readLog } from '../../log-reader.js'
import type { LogOptions } from '../../runtime.js'

const newline = 10

/** The text of a line, or undefined for one that is older than wanted. */
const readLine = (line: Buffer, { timestamps, sinceTime }: LogOptions): Buffer | undefined => {
  const text = line.toString('utf8')
  const [time = '', , tag = 'F'] = text.split(' ', 3)
  if (sinceTime !== undefined && Date.parse(time) < sinceTime) return undefined
  const at = text.indexOf(' ', text.indexOf(' ', time.length + 1) + 1) + 1
  const content = text.slice(at, tag.startsWith('P') ? -1 : undefined)
  return Buffer.from(timestamps ? `${time} ${content}` : content)
}

export async function* readCriLog(
  source: LogSource,
  options: LogOptions,
  signal: AbortSignal,
): AsyncIterable<Buffer> {
  const whole = { ...options, timestamps: false, sinceTime: undefined, limitBytes: undefined }
  let rest = Buffer.alloc(0)
  let left = options.limitBytes ?? Number.POSITIVE_INFINITY
  for await (const chunk of readLog(source, whole, signal)) {
    const bytes = Buffer.concat([rest, chunk])
    const parts: Buffer[] = []
    let start = 0
    for (let at = bytes.indexOf(newline); at >= 0; at = bytes.indexOf(newline, start)) {
      const line = readLine(bytes.subarray(start, at + 1), options)
      if (line) parts.push(line)
      start = at + 1
    }
    rest = Buffer.from(bytes.subarray(start))
    const piece = Buffer.concat(parts).subarray(0, left)
    left -= piece.length
    if (piece.length > 0) yield piece
    if (left <= 0) return
  }
}
