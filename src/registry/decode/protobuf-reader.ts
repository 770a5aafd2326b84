/**
 * The wire format of protobuf, read as the code reads it that gogo generates for Kubernetes' types: what is wrong has the
 * same words and is found in the same order. Fields that nobody knows are skipped, old groups included.
 */
import { type Int64, int64Max, int64Of } from '#json/int64.js'
import { textOf } from '#json/utf8.js'
import { limits } from '#limits'

export class ProtobufError extends Error {}

/** What a runtime.Unknown begins with, the envelope of every object. */
export const unknownMagic = Buffer.from('k8s\0')

export const wireType = {
  varint: 0,
  fixed64: 1,
  delimited: 2,
  startGroup: 3,
  endGroup: 4,
  fixed32: 5,
} as const

const unexpectedEnd = (): ProtobufError => new ProtobufError('unexpected EOF')
const negativeLength = (): ProtobufError =>
  new ProtobufError('proto: negative length found during unmarshaling')

const longestVarint = 10
/** What fits the integers of JavaScript's fast operators. */
const shortVarintBits = 28

const wireTypeOf = (tag: number | bigint): number => Number(BigInt.asUintN(3, BigInt(tag)))

export class MessageReader {
  readonly #bytes: Buffer
  /** The Go type of the message. */
  readonly #name: string
  readonly #end: number
  /** How deep the message lies in the JSON that is made of it. */
  readonly #depth: number
  #at: number
  /** Where the current field begins, and what its tag says. */
  #start = 0
  #tag: number | bigint = 0

  constructor(bytes: Buffer, name: string, start = 0, end = bytes.length, depth = 1) {
    this.#bytes = bytes
    this.#name = name
    this.#at = start
    this.#end = end
    this.#depth = depth
  }

  /** Goes to the next field and yields its number; 0 when there is none. */
  next(): number {
    const number = this.nextOfEntry(this.#end)
    if (number === undefined) return 0
    if (this.wireType === wireType.endGroup)
      throw new ProtobufError(`proto: ${this.#name}: wiretype end group for non-group`)
    if (number <= 0)
      throw new ProtobufError(
        `proto: ${this.#name}: illegal tag ${number} (wire type ${this.#tag})`,
      )
    return number
  }

  get wireType(): number {
    return typeof this.#tag === 'number' ? this.#tag & 7 : wireTypeOf(this.#tag)
  }

  /** Throws unless the current field has this wire type. */
  expect(type: number, field: string): void {
    if (this.wireType !== type) throw this.wrongWireType(field)
  }

  wrongWireType(field: string): ProtobufError {
    return new ProtobufError(`proto: wrong wireType = ${this.wireType} for field ${field}`)
  }

  /** The end of an entry of a map, or of packed numbers, which are read in place. */
  partEnd(): number {
    const length = this.#varint()
    let end: number
    if (typeof length === 'number') end = this.#at + length
    else {
      const signed = BigInt.asIntN(64, length)
      if (signed < 0n || signed > int64Max - BigInt(this.#at)) throw negativeLength()
      end = this.#at + Number(signed)
    }
    if (end > this.#end) throw unexpectedEnd()
    return end
  }

  isBefore(end: number): boolean {
    return this.#at < end
  }

  /** As `next`, where neither number nor wire type are looked at. */
  nextOfEntry(end: number): number | undefined {
    if (this.#at >= end) return undefined
    this.#start = this.#at
    const tag = this.#varint()
    this.#tag = tag
    return typeof tag === 'number' ? tag >>> 3 : Number(BigInt.asIntN(32, tag >> 3n))
  }

  /** What the entry says may reach behind its end; the message goes on there all the same. */
  leaveEntry(end: number): void {
    this.#at = end
  }

  bool(): boolean {
    const value = this.#varint()
    return typeof value === 'number' ? value !== 0 : value !== 0n
  }

  int32(): number {
    const value = this.#varint()
    return typeof value === 'number' ? value : Number(BigInt.asIntN(32, value))
  }

  int64(): Int64 {
    const value = this.#varint()
    return typeof value === 'number' ? value : int64Of(BigInt.asIntN(64, value))
  }

  double(): number {
    const at = this.#at
    if (at + 8 > this.#end) throw unexpectedEnd()
    this.#at = at + 8
    return this.#bytes.readDoubleLE(at)
  }

  bytes(): Buffer {
    const end = this.partEnd()
    const part = this.#bytes.subarray(this.#at, end)
    this.#at = end
    return part
  }

  text(): string {
    const start = this.#at
    const end = this.partEnd()
    const text = this.#bytes.toString('utf8', this.#at, end)
    if (text.includes('\ufffd')) {
      this.#at = start
      return textOf(this.bytes())
    }
    this.#at = end
    return text
  }

  /** A message in the current field, so many levels deeper in JSON. Upstream has no bound, but a stack that grows to a gigabyte. */
  message(name: string, levels = 1): MessageReader {
    const end = this.partEnd()
    const depth = this.#depth + levels
    if (depth > limits.jsonDepthMax) throw new ProtobufError('exceeded max depth')
    const reader = new MessageReader(this.#bytes, name, this.#at, end, depth)
    this.#at = end
    return reader
  }

  /** Skips the current field, which may not go on behind `end`. */
  skip(end = this.#end): void {
    this.#at = this.#start
    let depth = 0
    do {
      if (this.#at >= this.#end) throw unexpectedEnd()
      const type = wireTypeOf(this.#varint())
      if (type === wireType.varint) this.#varint()
      else if (type === wireType.fixed64) this.#at += 8
      else if (type === wireType.delimited) this.#skipPart()
      else if (type === wireType.startGroup) depth++
      else if (type === wireType.fixed32) this.#at += 4
      else if (type !== wireType.endGroup)
        throw new ProtobufError(`proto: illegal wireType ${type}`)
      else if (depth === 0) throw new ProtobufError('proto: unexpected end of group')
      else depth--
    } while (depth > 0)
    if (this.#at > end) throw unexpectedEnd()
  }

  #skipPart(): void {
    const length = BigInt.asIntN(64, BigInt(this.#varint()))
    if (length < 0n || length > int64Max - BigInt(this.#at)) throw negativeLength()
    this.#at += Number(length)
  }

  /** Unsigned, and a BigInt when it is long. */
  #varint(): number | bigint {
    let value = 0
    const start = this.#at
    for (let shift = 0; shift < shortVarintBits; shift += 7) {
      if (this.#at >= this.#end) throw unexpectedEnd()
      const byte = this.#bytes[this.#at++]!
      value |= (byte & 0x7f) << shift
      if (byte < 0x80) return value
    }
    this.#at = start
    return this.#longVarint()
  }

  #longVarint(): bigint {
    let value = 0n
    for (let count = 0; count < longestVarint; count++) {
      if (this.#at >= this.#end) throw unexpectedEnd()
      const byte = this.#bytes[this.#at++]!
      value |= BigInt(byte & 0x7f) << BigInt(7 * count)
      if (byte < 0x80) return BigInt.asUintN(64, value)
    }
    throw new ProtobufError('proto: integer overflow')
  }
}
