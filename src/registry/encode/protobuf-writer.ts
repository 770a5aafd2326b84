/**
 * Writes the wire format of protobuf from the end to the beginning, so that the length of a message is known when it
 * goes before it. One buffer serves every message; what is done is copied out of it.
 */
import assert from 'node:assert/strict'
import { wireType } from '../decode/protobuf-reader.js'

const startBytes = 64 * 1024

export class ProtobufWriter {
  #buffer = Buffer.allocUnsafeSlow(startBytes)
  #at = startBytes

  /** Bytes written so far: the difference of two marks is the length of what came in between. */
  get mark(): number {
    return this.#buffer.length - this.#at
  }

  #reserve(bytes: number): void {
    if (this.#at >= bytes) return
    const used = this.mark
    const grown = Buffer.allocUnsafeSlow((this.#buffer.length + bytes) * 2)
    this.#buffer.copy(grown, grown.length - used, this.#at)
    this.#buffer = grown
    this.#at = grown.length - used
  }

  tag(number: number, type: number): void {
    this.varint(number * 8 + type)
  }

  /** An integer of up to 64 bits, negative ones as their complement. */
  varint(value: number | bigint): void {
    if (typeof value === 'number' && value >= 0 && value < 0x80) {
      this.#reserve(1)
      this.#buffer[--this.#at] = value
      return
    }
    const bytes: number[] = []
    if (typeof value === 'number' && value >= 0) {
      let rest = value
      for (; rest > 0x7f; rest = Math.floor(rest / 128)) bytes.push((rest % 128) | 0x80)
      bytes.push(rest)
    } else {
      let rest = BigInt.asUintN(64, BigInt(value))
      for (; rest > 0x7fn; rest >>= 7n) bytes.push(Number(rest & 0x7fn) | 0x80)
      bytes.push(Number(rest))
    }
    this.#reserve(bytes.length)
    this.#at -= bytes.length
    this.#buffer.set(bytes, this.#at)
  }

  double(value: number): void {
    this.#reserve(8)
    this.#at -= 8
    this.#buffer.writeDoubleLE(value, this.#at)
  }

  text(value: string): void {
    const length = Buffer.byteLength(value)
    this.#reserve(length)
    this.#at -= length
    this.#buffer.write(value, this.#at, length, 'utf8')
  }

  bytes(value: Uint8Array): void {
    this.#reserve(value.length)
    this.#at -= value.length
    this.#buffer.set(value, this.#at)
  }

  /** Closes what was written since `mark` as the content of a length-delimited field. */
  delimit(number: number, mark: number): void {
    this.varint(this.mark - mark)
    this.tag(number, wireType.delimited)
  }

  textField(number: number, value: string): void {
    const mark = this.mark
    this.text(value)
    this.delimit(number, mark)
  }

  integerField(number: number, value: number | bigint): void {
    this.varint(value)
    this.tag(number, wireType.varint)
  }

  /**
   * Everything written since the last call, as a copy; the writer is empty again. The copy belongs to no pool, so it
   * may be kept.
   */
  finish(): Buffer {
    const done = Buffer.allocUnsafeSlow(this.mark)
    this.#buffer.copy(done, 0, this.#at)
    // One large list must not keep its room for ever.
    if (this.#buffer.length > startBytes * 64) this.#buffer = Buffer.allocUnsafeSlow(startBytes)
    this.#at = this.#buffer.length
    assert(done.length > 0, 'nothing was written')
    return done
  }

  /** After a value that could not be encoded. */
  reset(): void {
    this.#at = this.#buffer.length
  }
}
