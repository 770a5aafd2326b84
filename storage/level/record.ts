/**
 * What is on disk. One LevelDB entry for each event, `r` + revision + key, so that a scan replays history in order. The
 * last revision of a batch has the head with it that counts its events: keys only ever go up then, and LevelDB never
 * writes a table anew because another reaches across it, as one with a head under a key of its own would. Such a key is
 * for a head that comes without events. LevelDB as shipped verifies no checksum, so each entry carries its own over its
 * key and its bytes.
 */
import { crc32 } from 'node:zlib'
import type { KeyValue } from '../driver.js'

export interface Head {
  readonly revision: number
  readonly compacted: number
  /** Number of live keys, and `keyDigest` of each of them and its revision, exclusive-ored. */
  readonly live: number
  readonly digest: number
}

export interface Record {
  readonly revision: number
  readonly key: string
  /** Undefined for a tombstone. */
  readonly kv: KeyValue | undefined
  /** How many events the revision has. */
  readonly events: number
  /** When the value ends, in ms since the epoch; 0: never. */
  readonly expiry: number
  /** Of the last revision of a batch: the head behind it. */
  readonly head?: Head | undefined
}

const format = 1

export const headKey = 'h'
export const firstRecordKey = 'r'
export const recordKeysEnd = 's'

/** Hexadecimal digits of a revision in a record's key: enough for every safe integer. */
const revisionDigits = 14
const keyStart = 1 + revisionDigits

export const recordKey = (revision: number, key: string): string =>
  `r${revision.toString(16).padStart(revisionDigits, '0')}${key}`

// crc32 u32, format u8, flags u8, events u16, createRevision u48, expiry f64, and the head where there is one
const crcBytes = 4
const headerBytes = crcBytes + 1 + 1 + 2 + 6 + 8
// compacted u48, live u48, digest u32
const headBytes = 6 + 6 + 4
const hasValue = 1
const hasHead = 2

const writeHead = (bytes: Buffer, at: number, { compacted, live, digest }: Head): void => {
  bytes.writeUIntBE(compacted, at, 6)
  bytes.writeUIntBE(live, at + 6, 6)
  bytes.writeUInt32BE(digest, at + 12)
}

const readHead = (bytes: Buffer, at: number, revision: number): Head => ({
  revision,
  compacted: bytes.readUIntBE(at, 6),
  live: bytes.readUIntBE(at + 6, 6),
  digest: bytes.readUInt32BE(at + 12),
})

export const encodeRecord = (levelKey: string, record: Record): Buffer => {
  const { kv, events, expiry, head } = record
  const valueAt = headerBytes + (head === undefined ? 0 : headBytes)
  const bytes = Buffer.allocUnsafe(valueAt + (kv?.value.length ?? 0))
  bytes[4] = format
  bytes[5] = (kv === undefined ? 0 : hasValue) | (head === undefined ? 0 : hasHead)
  bytes.writeUInt16BE(events, 6)
  bytes.writeUIntBE(kv?.createRevision ?? 0, 8, 6)
  bytes.writeDoubleBE(expiry, 14)
  if (head !== undefined) writeHead(bytes, headerBytes, head)
  kv?.value.copy(bytes, valueAt)
  bytes.writeUInt32BE(crc32(bytes.subarray(crcBytes), crc32(levelKey)), 0)
  return bytes
}

/** The bytes of the key that is looked at. */
let keyBytes = Buffer.allocUnsafe(1024)

/** Yields undefined when the bytes are not what was written. */
export const decodeRecord = (levelKey: string, bytes: Buffer): Record | undefined => {
  if (bytes.length < headerBytes || levelKey.length < keyStart) return undefined
  if (levelKey.length * 3 > keyBytes.length) keyBytes = Buffer.allocUnsafe(levelKey.length * 3)
  const keyEnd = keyBytes.write(levelKey)
  const crc = crc32(bytes.subarray(crcBytes), crc32(keyBytes.subarray(0, keyEnd)))
  if (crc !== bytes.readUInt32BE(0)) return undefined
  if (bytes[4] !== format) return undefined
  const revision = Number.parseInt(levelKey.slice(1, keyStart), 16)
  // A slice would hold the whole of levelKey, and comparing slices is slow: V8 looks behind them each time.
  const key = keyBytes.toString('utf8', keyStart, keyEnd)
  const events = bytes.readUInt16BE(6)
  const expiry = bytes.readDoubleBE(14)
  const flags = bytes[5]!
  const head = flags & hasHead ? readHead(bytes, headerBytes, revision) : undefined
  if (!(flags & hasValue)) return { revision, key, kv: undefined, events, expiry, head }
  const createRevision = bytes.readUIntBE(8, 6)
  const value = bytes.subarray(headerBytes + (head === undefined ? 0 : headBytes))
  const kv = { key, value, modRevision: revision, createRevision }
  return { revision, key, kv, events, expiry, head }
}

export const encodeHead = (head: Head): Buffer => {
  const bytes = Buffer.allocUnsafe(crcBytes + 1 + 6 + headBytes)
  bytes[4] = format
  bytes.writeUIntBE(head.revision, 5, 6)
  writeHead(bytes, 11, head)
  bytes.writeUInt32BE(crc32(bytes.subarray(crcBytes)), 0)
  return bytes
}

/** Yields undefined when the bytes are not what was written. */
export const decodeHead = (bytes: Buffer): Head | undefined => {
  if (bytes.length !== 27 || bytes[4] !== format) return undefined
  if (crc32(bytes.subarray(crcBytes)) !== bytes.readUInt32BE(0)) return undefined
  return readHead(bytes, 11, bytes.readUIntBE(5, 6))
}

export const keyDigest = (kv: KeyValue): number => crc32(kv.key, kv.modRevision >>> 0)
