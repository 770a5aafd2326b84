/**
 * Backups: one snapshot of a store as lines of JSON with its revision and a digest. The first line is a header, each
 * further one holds a key, and the last one has the number of keys and the digest of all lines before it.
 *
 * A restore checks the whole file before it writes, needs an empty store, and starts it at a higher revision than any
 * that a client may have seen. So a watch from an old revision gets 410 instead of wrong events.
 */
import { createHash, type Hash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { open, rename, rm } from 'node:fs/promises'
import { limits } from '#limits'
import { linesOf } from '#net/lines.js'
import { type KeyValue, type Operation, type StorageDriver, StorageError } from './driver.js'

export interface BackupSummary {
  readonly revision: number
  readonly keys: number
  /** SHA-256 of everything before the last line, in hexadecimal. */
  readonly digest: string
}

const format = 1
/** A restored store starts this far ahead of the backup's revision: more than the number of writes lost since. */
const restoredRevisionsAhead = 1_000_000
/** A backup does not hold when objects expire, so Events get upstream's lifetime again. */
const expiring = { prefix: '/registry/events/', ttlSeconds: limits.eventTtlSeconds }

/** Writes a backup to `file`, which appears whole or not at all. Others may write to the store meanwhile. */
export const backup = (driver: StorageDriver, file: string): Promise<BackupSummary> =>
  saveBackup(backupText(driver), file)

/** Writes the text of a backup to a file. It is read back and checked before it gets its name. */
export const saveBackup = async (
  text: AsyncIterable<string | Buffer>,
  file: string,
): Promise<BackupSummary> => {
  const partial = `${file}.partial`
  const handle = await open(partial, 'w', 0o600)
  try {
    for await (const piece of text) await handle.appendFile(piece)
    await handle.sync()
    await handle.close()
    const summary = await verifyBackup(partial)
    await rename(partial, file)
    return summary
  } catch (error) {
    await handle.close().catch(() => {})
    await rm(partial, { force: true })
    throw error
  }
}

/** The text of a backup, a page of keys at a time. Throws Compacted if its revision is compacted meanwhile. */
export async function* backupText(driver: StorageDriver): AsyncGenerator<string> {
  const hash = createHash('sha256')
  const textOf = (lines: readonly string[]) => {
    const text = lines.map((line) => `${line}\n`).join('')
    hash.update(text)
    return text
  }
  const revision = await driver.headRevision()
  yield textOf([JSON.stringify({ kubelevelBackup: format, revision })])
  let keys = 0
  let start = ''
  for (let more = true; more; ) {
    const page = await driver.range({ prefix: '', start, limit: limits.pageLength, revision })
    yield textOf(page.kvs.map((kv) => JSON.stringify([kv.key, kv.value.toString('base64')])))
    keys += page.kvs.length
    more = page.more
    start = `${page.kvs[page.kvs.length - 1]?.key}\0`
  }
  yield `${JSON.stringify({ keys, digest: hash.digest('hex') })}\n`
}

/** Reads a backup to its end. Throws StorageError Corrupt when it is not what was written. */
export const verifyBackup = async (
  file: string,
  visit: (kv: Pick<KeyValue, 'key' | 'value'>) => void = () => {},
): Promise<BackupSummary> => {
  const reader = new BackupReader(file, visit)
  for await (const line of linesOf(createReadStream(file))) reader.take(line)
  return reader.finish()
}

class BackupReader {
  readonly #file: string
  readonly #visit: (kv: Pick<KeyValue, 'key' | 'value'>) => void
  readonly #hash: Hash = createHash('sha256')
  #revision: number | undefined
  #keys = 0
  #digest: string | undefined

  constructor(file: string, visit: (kv: Pick<KeyValue, 'key' | 'value'>) => void) {
    this.#file = file
    this.#visit = visit
  }

  take(line: string): void {
    const value = this.#parse(line)
    if (this.#digest !== undefined) throw this.#damaged('something follows its end')
    if (this.#revision === undefined) this.#takeHead(value)
    else if (Array.isArray(value)) this.#takeKey(value)
    else {
      this.#takeEnd((value ?? {}) as { keys?: unknown; digest?: unknown })
      return
    }
    this.#hash.update(`${line}\n`)
  }

  finish(): BackupSummary {
    if (this.#revision === undefined || this.#digest === undefined) {
      throw this.#damaged('it has no end')
    }
    return { revision: this.#revision, keys: this.#keys, digest: this.#digest }
  }

  #parse(line: string): unknown {
    try {
      return JSON.parse(line)
    } catch {
      throw this.#damaged('a line is no JSON')
    }
  }

  #takeHead(value: unknown): void {
    const { kubelevelBackup, revision } = (value ?? {}) as Record<string, unknown>
    if (kubelevelBackup !== format || typeof revision !== 'number') {
      throw new StorageError('Corrupt', `${this.#file} is no backup of this format`)
    }
    this.#revision = revision
  }

  #takeKey([key, value]: unknown[]): void {
    if (typeof key !== 'string' || typeof value !== 'string') throw this.#damaged('a bad line')
    this.#keys++
    this.#visit({ key, value: Buffer.from(value, 'base64') })
  }

  #takeEnd({ keys, digest }: { keys?: unknown; digest?: unknown }): void {
    if (keys !== this.#keys || digest !== this.#hash.digest('hex')) {
      throw this.#damaged('its digest does not fit')
    }
    this.#digest = digest
  }

  #damaged(what: string): StorageError {
    return new StorageError('Corrupt', `${this.#file} is damaged: ${what}`)
  }
}

/** Where a store that takes this backup must start. */
export const restoredStart = (summary: BackupSummary): number =>
  summary.revision + restoredRevisionsAhead

/** Fills an empty store that was opened to start at `restoredStart`. Verify the file first. */
export const restore = async (driver: StorageDriver, file: string): Promise<BackupSummary> => {
  const { kvs, revision } = await driver.range({ prefix: '', limit: 1 })
  if (kvs.length > 0)
    throw new StorageError(
      'Unavailable',
      'the store to restore into is not empty: a backup makes a new one',
    )
  const operations: Extract<Operation, { type: 'put' }>[] = []
  const summary = await verifyBackup(file, ({ key, value }) => {
    const ttlSeconds = key.startsWith(expiring.prefix) ? expiring.ttlSeconds : undefined
    operations.push({ type: 'put', key, value, ttlSeconds })
  })
  if (revision < restoredStart(summary)) {
    throw new StorageError('Unavailable', `the store starts at ${revision}, before the backup`)
  }
  let waiting: Operation[] = []
  let bytes = 0
  const write = async (): Promise<void> => {
    if (waiting.length > 0) await driver.txn([], waiting)
    waiting = []
    bytes = 0
  }
  for (const operation of operations) {
    const size = operation.value.length
    if (bytes + size > limits.restoredBytesMax || waiting.length === limits.restoredKeysMax)
      await write()
    waiting.push(operation)
    bytes += size
  }
  await write()
  return summary
}
