/** What `kubectl logs` asks for, against the same made of the whole text at once. */
import { appendFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import fc from 'fast-check'
import t from 'tap'
import { type LogSource, readLog } from '#kubelet/log-reader.js'
import { readCriLog } from '#kubelet/runtime/cri/cri-log.js'
import type { LogMark } from '#kubelet/runtime/process/log-times.js'
import type { LogOptions } from '#kubelet/runtime.js'

interface Log {
  readonly text: string
  /** In order of both. */
  readonly marks: readonly LogMark[]
}

/** Lines as they stand in the text, each with its newline; the last one may have none. */
const linesOf = (text: string): string[] => text.match(/[^\n]*\n|[^\n]+$/g) ?? []

/** Everything in front of the first mark at or after `time` was written before that mark's predecessor ended. */
const offsetSince = ({ marks }: Log, time: number): number => {
  const at = marks.findIndex((mark) => mark.time >= time)
  return at === 0 ? 0 : (marks.at(at < 0 ? -1 : at - 1)?.offset ?? 0)
}

const offsetOfLast = ({ text }: Log, lines: number): number =>
  text.length - (lines === 0 ? '' : linesOf(text).slice(-lines).join('')).length

const expected = (log: Log, options: LogOptions): string => {
  const { timestamps, tailLines, sinceTime, limitBytes } = options
  const start = Math.max(
    sinceTime === undefined ? 0 : offsetSince(log, sinceTime),
    tailLines === undefined ? 0 : offsetOfLast(log, tailLines),
  )
  let at = start
  const stamped = linesOf(log.text.slice(start)).map((line) => {
    const mark = log.marks.find(({ offset }) => offset > at) ?? log.marks.at(-1)
    at += line.length
    const time = new Date(mark?.time ?? 0).toISOString().replace(/Z$/, '000000Z')
    return timestamps ? `${time} ${line}` : line
  })
  return stamped.join('').slice(0, limitBytes)
}

/** Some lines are longer than what is read at once. */
const line = fc.oneof(
  { weight: 20, arbitrary: fc.string({ unit: fc.constantFrom('a', 'b', ' '), maxLength: 12 }) },
  {
    weight: 1,
    arbitrary: fc.constantFrom('x'.repeat(65_535), 'y'.repeat(65_536), 'z'.repeat(90_000)),
  },
)
const log = fc
  .tuple(fc.array(line, { maxLength: 12 }), fc.boolean(), fc.array(fc.nat(), { maxLength: 6 }))
  .map(([lines, isEnded, cuts]): Log => {
    const text = lines.map((one) => `${one}\n`).join('') + (isEnded ? '' : 'unfinished')
    const offsets = [...new Set(cuts.map((cut) => cut % (text.length + 1)))].sort((a, b) => a - b)
    return { text, marks: offsets.map((offset, i) => ({ offset, time: (i + 1) * 1000 })) }
  })
const maybe = (most: number) => fc.option(fc.nat(most), { nil: undefined })
const options = fc.record({
  follow: fc.constant(false),
  timestamps: fc.boolean(),
  tailLines: maybe(14),
  sinceTime: fc.option(
    fc.nat(16).map((half) => half * 500),
    { nil: undefined },
  ),
  limitBytes: maybe(200_000),
})

const read = async (source: LogSource, asked: LogOptions, signal: AbortSignal): Promise<string> => {
  const chunks: Buffer[] = []
  for await (const chunk of readLog(source, asked, signal)) chunks.push(chunk)
  return Buffer.concat(chunks).toString()
}

t.test('lines from where the options say, in the form and up to the size they ask', async (t) => {
  const folder = mkdtempSync(path.join(tmpdir(), 'log-reader-'))
  t.teardown(() => rmSync(folder, { recursive: true }))
  const file = path.join(folder, 'log')
  const { signal } = new AbortController()
  await fc.assert(
    fc.asyncProperty(log, options, async (one, asked) => {
      writeFileSync(file, one.text)
      const source = {
        file,
        marks: () => [...one.marks],
        ended: () => true,
        onChange: () => () => {},
      }
      return (await read(source, asked, signal)) === expected(one, asked)
    }),
    { numRuns: 300 },
  )
})

t.test('the last line is one line, however much is written while it is read', async (t) => {
  const folder = mkdtempSync(path.join(tmpdir(), 'log-reader-'))
  t.teardown(() => rmSync(folder, { recursive: true }))
  const file = path.join(folder, 'log')
  const { signal } = new AbortController()
  const source = { file, marks: () => [], ended: () => true, onChange: () => () => {} }
  const asked: LogOptions = {
    follow: false,
    timestamps: false,
    tailLines: 1,
    sinceTime: undefined,
    limitBytes: undefined,
  }
  const criLine = (text: string) => `2026-11-23T03:32:58.296644000Z stdout F ${text}\n`
  const plainLine = (text: string) => `${text}\n`
  for (const [reader, line] of [
    [readLog, plainLine],
    [readCriLog, criLine],
  ] as const) {
    writeFileSync(file, line('first') + line('last'))
    const seen: string[] = []
    for await (const chunk of reader(source, asked, signal)) {
      seen.push(chunk.toString())
      if (seen.length === 1) appendFileSync(file, line('late'))
    }
    t.same(seen, ['last\n'], reader.name)
  }
})
