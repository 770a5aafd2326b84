/** What `kubectl logs` asks for, against the same made of the whole text at once. */
import { appendFileSync, mkdtempSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import files from 'node:fs/promises'
import { syncBuiltinESMExports } from 'node:module'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import fc from 'fast-check'
import t from 'tap'
import { systemClock } from '#api/clock.js'
import { type LogSource, readLog } from '#kubelet/log-reader.js'
import { rotatedLog } from '#kubelet/rotated-log.js'
import { readCriLog } from '#kubelet/runtime/cri/cri-log.js'
import { type LogMark, LogTimes } from '#kubelet/runtime/process/log-times.js'
import type { LogOptions } from '#kubelet/runtime.js'
import { limits } from '#limits'
import { eventually } from '../eventually.js'

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
        marks: (from: number) => ({ marks: one.marks.slice(from), end: one.marks.length }),
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
  const source = {
    file,
    marks: () => ({ marks: [], end: 0 }),
    ended: () => true,
    onChange: () => () => {},
  }
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

const everything: LogOptions = {
  ...{ follow: false, timestamps: true, tailLines: undefined, sinceTime: undefined },
  limitBytes: undefined,
}

t.test('each time of a long log is read once, and a line that never ends is shown', async (t) => {
  const folder = mkdtempSync(path.join(tmpdir(), 'log-reader-'))
  t.teardown(() => rmSync(folder, { recursive: true }))
  const times = new LogTimes(folder, systemClock)
  const lines = 50_000
  const noted = Array.from({ length: lines }, (_, i) => `${(i + 1) * 20} ${(i + 1) * 1000}\n`)
  writeFileSync(path.join(folder, 'a.times'), noted.join(''))
  const file = path.join(folder, 'a.log')
  writeFileSync(file, `${'x'.repeat(19)}\n`.repeat(lines))
  let given = 0
  const source: LogSource = {
    file,
    marks: (from) => {
      const read = times.marks('a', from)
      given += read.marks.length
      return read
    },
    ended: () => true,
    onChange: () => () => {},
  }
  const text = await read(source, everything, new AbortController().signal)
  t.equal(text.length, lines * 51)
  t.ok(text.endsWith(`1970-01-01T13:53:20.000000000Z ${'x'.repeat(19)}\n`))
  t.equal(given, lines)

  const { end } = times.marks('a')
  appendFileSync(path.join(folder, 'a.times'), '1000040 50001000\n')
  t.same(times.marks('a', end).marks, [{ offset: 1_000_040, time: 50_001_000 }])
  writeFileSync(path.join(folder, 'a.times'), '7 9\n')
  t.same(times.marks('a', end), { marks: [{ offset: 7, time: 9 }], end: 4 }, 'after a rotation')

  writeFileSync(file, 'y'.repeat(100_000))
  const stop = new AbortController()
  const follow = { ...everything, follow: true }
  let shown = ''
  for await (const chunk of readLog({ ...source, ended: () => false }, follow, stop.signal)) {
    shown += chunk
    if (shown.length >= 100_000) break
  }
  t.equal(shown, `1970-01-01T00:00:00.009000000Z ${'y'.repeat(100_000)}`)
})

t.test('a log that grows while it is rotated is not rotated at the same time again', async (t) => {
  const file = path.join(t.testdir(), 'a.log')
  const { copyFile } = files
  let underWay = 0
  let most = 0
  const before = t.intercept(files, 'copyFile', {
    value: async (from: string, to: string) => {
      most = Math.max(most, ++underWay)
      await sleep(200)
      await copyFile(from, to)
      underWay--
    },
  })
  syncBuiltinESMExports()
  t.teardown(() => {
    before.restore()
    syncBuiltinESMExports()
  })
  const length = limits.containerLogBytesMax + 1
  writeFileSync(file, Buffer.alloc(length))
  const times = new LogTimes(path.dirname(file), systemClock)
  times.open(['a'])
  t.teardown(() => times.close())
  await eventually('a rotation', () => underWay > 0)
  appendFileSync(file, 'more')
  await eventually('its end', () => underWay === 0 && statSync(file).size === 0)
  t.equal(most, 1)
  t.equal(statSync(rotatedLog(file)).size, length + 4)
  appendFileSync(file, 'and more')
  await eventually('a note', () => times.marks('a').marks.at(-1)?.offset === 8)
})

t.test('whoever follows a log goes on in the file that takes its place', async (t) => {
  const folder = mkdtempSync(path.join(tmpdir(), 'log-reader-'))
  t.teardown(() => rmSync(folder, { recursive: true }))
  const file = path.join(folder, 'log')
  writeFileSync(file, 'before\n')
  let isEnded = false
  const source: LogSource = {
    file,
    marks: () => ({ marks: [], end: 0 }),
    ended: () => isEnded,
    onChange: (listener) => {
      const timer = setInterval(listener, 10)
      return () => clearInterval(timer)
    },
  }
  const asked = { ...everything, follow: true, timestamps: false }
  const seen: string[] = []
  for await (const chunk of readLog(source, asked, new AbortController().signal)) {
    seen.push(chunk.toString())
    if (seen.length > 1) continue
    renameSync(file, `${file}.1`)
    writeFileSync(file, 'after\n')
    appendFileSync(`${file}.1`, 'late\n')
    isEnded = true
  }
  t.same(seen, ['before\n', 'late\n', 'after\n'])
})
