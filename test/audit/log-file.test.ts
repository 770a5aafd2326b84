/** What becomes of an audit log that grows. */
import { closeSync, openSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { gunzipSync } from 'node:zlib'
import t, { type Test } from 'tap'
import { AuditRecord } from '#audit/audit-record.js'
import { LogFile, type LogFileOptions } from '#audit/log-file.js'
import { temporaryDirectory } from '../storage/level-fixture.js'

/** A third of a megabyte. */
const record = (id: number): AuditRecord =>
  new AuditRecord({
    level: 'Metadata',
    auditID: `id-${id}-`,
    stage: 'ResponseComplete',
    requestURI: `/${'x'.repeat(330_000)}`,
    verb: 'get',
    user: { username: 'ann' },
    requestReceivedTimestamp: '2026-01-01T00:00:00.000000Z',
    stageTimestamp: '2026-01-01T00:00:00.000000Z',
  })

const start = Date.UTC(2026, 0, 31, 12)
const day = 24 * 60 * 60 * 1000

const plain = { format: 'json', maxSize: 1, maxBackups: 0, maxAge: 0, compress: false } as const

/** Writes events a day apart, three of which fit into a file; yields the files by name and which events they hold. */
const written = async (
  t: Test,
  options: Partial<LogFileOptions>,
  events: number,
): Promise<Record<string, string>> => {
  const folder = temporaryDirectory(t)
  writeFileSync(path.join(folder, 'audit-of-others.log'), '')
  let now = start
  const warned: string[] = []
  const file = new LogFile(
    { ...plain, path: path.join(folder, 'audit.log'), ...options },
    { clock: { now: () => now }, warn: (message, error) => warned.push(`${message}: ${error}`) },
  )
  for (let i = 0; i < events; i++) {
    t.equal(file.take([record(i)]), true)
    now += day
  }
  await file.close()
  t.same(warned, [])
  return Object.fromEntries(
    readdirSync(folder)
      .sort()
      .map((name) => {
        const bytes = readFileSync(path.join(folder, name))
        const text = (name.endsWith('.gz') ? gunzipSync(bytes) : bytes).toString()
        return [name, [...text.matchAll(/"id-(\d+)-"/g)].map(([, id]) => id).join(' ')]
      }),
  )
}

t.test('a file that is full is kept beside it under its time', async (t) => {
  t.same(await written(t, {}, 8), {
    'audit-2026-02-03T12-00-00.000.log': '0 1 2',
    'audit-2026-02-06T12-00-00.000.log': '3 4 5',
    'audit-of-others.log': '',
    'audit.log': '6 7',
  })
})

t.test('only so many old ones stay', async (t) => {
  const files = await written(t, { maxBackups: 1 }, 11)
  t.same(Object.keys(files), [
    'audit-2026-02-09T12-00-00.000.log',
    'audit-of-others.log',
    'audit.log',
  ])
})

t.test('only those that are not too old stay', async (t) => {
  const files = await written(t, { maxAge: 4 }, 10)
  t.same(Object.values(files), ['3 4 5', '6 7 8', '', '9'])
})

t.test('old ones are packed', async (t) => {
  const files = await written(t, { compress: true }, 4)
  t.same(files, {
    'audit-2026-02-03T12-00-00.000.log.gz': '0 1 2',
    'audit-of-others.log': '',
    'audit.log': '3',
  })
})

t.test('what the process before has left is put in order', async (t) => {
  const folder = temporaryDirectory(t)
  for (const date of ['01-01', '01-28', '01-29'])
    writeFileSync(path.join(folder, `audit-2026-${date}T12-00-00.000.log`), '')
  const file = new LogFile(
    { ...plain, maxAge: 4, maxBackups: 1, compress: true, path: path.join(folder, 'audit.log') },
    { clock: { now: () => start }, warn: (message) => t.fail(message) },
  )
  await file.close()
  t.same(readdirSync(folder).sort(), ['audit-2026-01-29T12-00-00.000.log.gz', 'audit.log'])
})

t.test('no new one begins where no size is given', async (t) => {
  t.same(await written(t, { maxSize: 0 }, 5), {
    'audit-of-others.log': '',
    'audit.log': '0 1 2 3 4',
  })
})

t.test('what comes after its end is written nowhere', async (t) => {
  const folder = temporaryDirectory(t)
  const warned: string[] = []
  const file = new LogFile(
    { ...plain, path: path.join(folder, 'audit.log') },
    { clock: { now: () => start }, warn: (_, error) => warned.push(String(error)) },
  )
  await file.close()
  // Gets the number that the log had.
  const other = path.join(folder, 'of-others')
  const fd = openSync(other, 'w')
  t.equal(file.take([record(1)]), false)
  closeSync(fd)
  t.equal(readFileSync(other, 'utf8'), '')
  t.same(warned, ['Error: the log is closed'])
})
