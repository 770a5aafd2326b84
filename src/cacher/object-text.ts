/**
 * The JSON of an object as clients see it: the stored bytes with the resourceVersion in between. It is put together where
 * it is copied to and not kept, because a large list would then hold its objects twice.
 */

/** Bytes that can be copied into a buffer. A Buffer is one. */
export interface Copyable {
  readonly length: number
  /** `target` must have room. Yields the number of bytes. */
  copy(target: Buffer, at: number): number
}

const quote = 0x22
const zero = 0x30
const backslash = 0x5c
const openBrace = 0x7b
const closeBrace = 0x7d
const metadataField = Buffer.from('"metadata":')
const fieldStart = Buffer.from(',"resourceVersion":"')

const digitsOf = (n: number): number => {
  let digits = 1
  for (let bound = 10; n >= bound; bound *= 10) digits++
  return digits
}

/** The field as a text, where it is not between a number of fields before it and a quote. */
const oddField = (value: Buffer, place: number, revision: number | string): string => {
  if (revision === '') return ''
  const field = `"resourceVersion":${JSON.stringify(String(revision))}`
  if (value[place - 1] !== openBrace) return `,${field}`
  return value[place] === closeBrace ? field : `${field},`
}

export class ObjectText implements Copyable {
  readonly length: number
  readonly #value: Buffer
  readonly #place: number
  readonly #revision: number
  /** Undefined in the usual case, where the field is written without making a string of it. */
  readonly #field: string | undefined
  readonly #fieldLength: number

  /** `place` is where the resourceVersion goes into `value`; a revision of '' goes nowhere. */
  constructor(value: Buffer, place: number, revision: number | string) {
    this.#value = value
    this.#place = place
    if (typeof revision === 'number' && value[place - 1] !== openBrace) {
      this.#revision = revision
      this.#field = undefined
      this.#fieldLength = fieldStart.length + digitsOf(revision) + 1
    } else {
      this.#revision = 0
      this.#field = oddField(value, place, revision)
      this.#fieldLength = Buffer.byteLength(this.#field)
    }
    this.length = value.length + this.#fieldLength
  }

  /**
   * The whole value at once, and then what stands before the version moves to its place: that is one call out of
   * JavaScript and a short one, where Node would first make a view of each of two parts.
   */
  copy(target: Buffer, at: number): number {
    const moved = at + this.#fieldLength
    target.set(this.#value, moved)
    target.copyWithin(at, moved, moved + this.#place)
    this.#writeField(target, at + this.#place)
    return this.length
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
    const length = end - start + this.#fieldLength
    const bytes = Buffer.allocUnsafe(before.length + length + after.length)
    let at = before.copy(bytes)
    at += this.#value.copy(bytes, at, start, this.#place)
    this.#writeField(bytes, at)
    at += this.#fieldLength
    at += this.#value.copy(bytes, at, this.#place, end)
    after.copy(bytes, at)
    return bytes
  }

  toString(): string {
    const bytes = Buffer.allocUnsafe(this.length)
    this.copy(bytes, 0)
    return bytes.toString()
  }

  #writeField(target: Buffer, start: number): void {
    if (this.#field !== undefined) {
      target.write(this.#field, start)
      return
    }
    for (let i = 0; i < fieldStart.length; i++) target[start + i] = fieldStart[i]!
    let at = start + this.#fieldLength - 1
    target[at] = quote
    for (let rest = this.#revision; at > start + fieldStart.length; rest = Math.floor(rest / 10))
      target[--at] = zero + (rest % 10)
  }
}

/** The index behind the object that begins at `start`. */
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
