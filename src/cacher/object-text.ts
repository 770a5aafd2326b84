/**
 * The JSON of an object as clients are shown it: what is stored, and its resourceVersion in between. It is put together
 * where it is copied to, and not kept: beside their stored bytes, the objects of a large list would be held twice.
 */

/** What can be copied to where it is needed; a Buffer is. */
export interface Copyable {
  readonly length: number
  /** Everything from `from` on, to where there is room for it; yields how many bytes that were. */
  copy(target: Buffer, at: number, from?: number): number
}

const quote = 0x22
const backslash = 0x5c
const openBrace = 0x7b
const closeBrace = 0x7d
const metadataField = Buffer.from('"metadata":')

export class ObjectText implements Copyable {
  readonly length: number
  readonly #value: Buffer
  readonly #place: number
  readonly #field: string

  /** `place` is where the resourceVersion goes into `value`; a revision of '' goes nowhere. */
  constructor(value: Buffer, place: number, revision: number | string) {
    this.#value = value
    this.#place = place
    this.#field = revision === '' ? '' : this.#fieldOf(revision)
    const field = this.#field
    this.length =
      value.length + (typeof revision === 'number' ? field.length : Buffer.byteLength(field))
  }

  #fieldOf(revision: number | string): string {
    const version = typeof revision === 'number' ? `"${revision}"` : JSON.stringify(revision)
    const field = `"resourceVersion":${version}`
    if (this.#value[this.#place - 1] !== openBrace) return `,${field}`
    return this.#value[this.#place] === closeBrace ? field : `${field},`
  }

  /** `from` is before the metadata. */
  copy(target: Buffer, at: number, from = 0): number {
    return this.#copy(target, at, from, this.#value.length)
  }

  beginsWith(start: Buffer): boolean {
    // For a few bytes, comparing them here is cheaper than a call out of JavaScript.
    for (let i = 0; i < start.length; i++) if (this.#value[i] !== start[i]) return false
    return true
  }

  /** The JSON of the metadata between two texts. */
  metadata(before: Buffer, after: Buffer): Buffer {
    const start = this.#value.indexOf(metadataField) + metadataField.length
    const end = endOfObject(this.#value, start)
    const length = end - start + this.length - this.#value.length
    const bytes = Buffer.allocUnsafe(before.length + length + after.length)
    before.copy(bytes)
    this.#copy(bytes, before.length, start, end)
    after.copy(bytes, before.length + length)
    return bytes
  }

  toString(): string {
    const bytes = Buffer.allocUnsafe(this.length)
    this.copy(bytes, 0)
    return bytes.toString()
  }

  #copy(target: Buffer, start: number, from: number, to: number): number {
    let at = start + this.#value.copy(target, start, from, this.#place)
    at += target.write(this.#field, at)
    at += this.#value.copy(target, at, this.#place, to)
    return at - start
  }
}

/** Behind the object that begins at `start`. */
const endOfObject = (json: Buffer, start: number): number => {
  let depth = 0
  let inText = false
  for (let at = start; at < json.length; at++) {
    const byte = json[at]
    if (byte === quote) inText = !inText
    else if (inText) at += byte === backslash ? 1 : 0
    else if (byte === openBrace) depth++
    else if (byte === closeBrace && --depth === 0) return at + 1
  }
  throw new Error('an object has no end')
}
