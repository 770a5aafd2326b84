/** What is on disk is read as it was written, or not at all. */
import { crc32 } from 'node:zlib'
import fc from 'fast-check'
import t from 'tap'
import {
  decodeHead,
  decodeRecord,
  encodeHead,
  encodeRecord,
  type Head,
  recordKey,
} from '#storage/level/record.js'

const count = fc.integer({ min: 0, max: 2 ** 48 - 1 })
const digest = fc.integer({ min: 0, max: 2 ** 32 - 1 })
const headOf = (revision: fc.Arbitrary<number>): fc.Arbitrary<Head> =>
  fc.record({ revision, compacted: count, live: count, digest })

const record = fc.tuple(count, fc.string({ unit: 'binary' })).chain(([revision, key]) => {
  const kv = fc.record({
    key: fc.constant(key),
    value: fc.uint8Array({ maxLength: 64 }).map(Buffer.from),
    modRevision: fc.constant(revision),
    createRevision: count,
  })
  return fc.record({
    revision: fc.constant(revision),
    key: fc.constant(key),
    kv: fc.option(kv, { nil: undefined }),
    events: fc.integer({ min: 0, max: 2 ** 16 - 1 }),
    expiry: fc.integer({ min: 0 }),
    head: fc.option(headOf(fc.constant(revision)), { nil: undefined }),
  })
})

/** One bit is another. */
const flipped = (bytes: Buffer, bit: number): Buffer => {
  const copy = Buffer.from(bytes)
  const at = bit % (bytes.length * 8)
  copy[at >>> 3]! ^= 1 << (at & 7)
  return copy
}

/** As a version to come may write it: whole, but of another format. */
const ofAnotherFormat = (bytes: Buffer, seed = 0): Buffer => {
  const copy = Buffer.from(bytes)
  copy[4]!++
  copy.writeUInt32BE(crc32(copy.subarray(4), seed), 0)
  return copy
}

t.test('records', async (t) => {
  fc.assert(
    fc.property(record, fc.nat(), (written, bit) => {
      const levelKey = recordKey(written.revision, written.key)
      const bytes = encodeRecord(levelKey, written)
      t.same(decodeRecord(levelKey, bytes), written)
      for (const other of [flipped(bytes, bit), ofAnotherFormat(bytes, crc32(levelKey))])
        t.equal(decodeRecord(levelKey, other), undefined)
      t.equal(decodeRecord(`${levelKey}x`, bytes), undefined, 'of another key')
    }),
  )
})

t.test('heads', async (t) => {
  fc.assert(
    fc.property(headOf(count), fc.nat(), (written, bit) => {
      const bytes = encodeHead(written)
      t.same(decodeHead(bytes), written)
      for (const other of [flipped(bytes, bit), ofAnotherFormat(bytes)])
        t.equal(decodeHead(other), undefined)
    }),
  )
})
