/** The few forms of DER that certificates and requests for them are made of: ITU-T X.690. */

const tlv = (tag: number, ...parts: readonly Uint8Array[]): Buffer => {
  const content = Buffer.concat(parts)
  const length: number[] = []
  if (content.length < 0x80) length.push(content.length)
  else {
    for (let rest = content.length; rest > 0; rest >>>= 8) length.unshift(rest & 0xff)
    length.unshift(0x80 | length.length)
  }
  return Buffer.concat([Buffer.from([tag, ...length]), content])
}
const sequence = (...parts: readonly Uint8Array[]): Buffer => tlv(0x30, ...parts)
const set = (...parts: readonly Uint8Array[]): Buffer => tlv(0x31, ...parts)
const integer = (bytes: Uint8Array): Buffer => tlv(0x02, bytes)
const octets = (...parts: readonly Uint8Array[]): Buffer => tlv(0x04, ...parts)
const bits = (bytes: Uint8Array, unused = 0): Buffer => tlv(0x03, Buffer.from([unused]), bytes)
const boolean = (value: boolean): Buffer => tlv(0x01, Buffer.from([value ? 0xff : 0]))
const text = (value: string): Buffer => tlv(0x0c, Buffer.from(value))

const oid = (dotted: string): Buffer => {
  const [first = 0, second = 0, ...rest] = dotted.split('.').map(Number)
  const bytes = [first * 40 + second]
  for (const part of rest) {
    const groups = [part & 0x7f]
    for (let left = part >>> 7; left > 0; left >>>= 7) groups.unshift(0x80 | (left & 0x7f))
    bytes.push(...groups)
  }
  return tlv(0x06, Buffer.from(bytes))
}

/** Two digits of the year until 2049, four from then on: RFC 5280, 4.1.2.5. */
const time = (epochMs: number): Buffer => {
  const digits = new Date(epochMs).toISOString().replace(/[-:T]|\.\d+/g, '')
  return Number(digits.slice(0, 4)) < 2050
    ? tlv(0x17, Buffer.from(digits.slice(2)))
    : tlv(0x18, Buffer.from(digits))
}

const extension = (id: string, value: Buffer, critical = false): Buffer =>
  critical ? sequence(oid(id), boolean(true), octets(value)) : sequence(oid(id), octets(value))

export const der = {
  tlv,
  sequence,
  set,
  integer,
  octets,
  bits,
  boolean,
  text,
  oid,
  time,
  extension,
}

export interface Element {
  tag: number
  content: Buffer
  /** Tag, length and content. */
  whole: Buffer
  rest: Buffer
}

/** What is wrong with these bytes, in the words of Go's encoding/asn1. */
export const syntaxError = (why: string): Error => new Error(`asn1: syntax error: ${why}`)
export const structureError = (why: string): Error => new Error(`asn1: structure error: ${why}`)

const truncated = 'truncated tag or length'

/** Where the length ends, and the length itself. DER has one way to write it. */
const readLength = (bytes: Buffer, from: number): { at: number; length: number } => {
  const first = bytes[from]
  if (first === undefined) throw syntaxError(truncated)
  if (first < 0x80) return { at: from + 1, length: first }
  const count = first & 0x7f
  if (count === 0) throw syntaxError('indefinite length found (not DER)')
  let length = 0
  for (let i = 1; i <= count; i++) {
    const byte = bytes[from + i]
    if (byte === undefined) throw syntaxError(truncated)
    if (length >= 2 ** 23) throw structureError('length too large')
    length = length * 256 + byte
    if (length === 0) throw structureError('superfluous leading zeros in length')
  }
  if (length < 0x80) throw structureError('non-minimal length')
  return { at: from + 1 + count, length }
}

/** The first element of these bytes. A tag may have several bytes; the first one says that it is none that is known. */
export const readElement = (bytes: Buffer): Element => {
  if (bytes.length === 0) throw syntaxError('sequence truncated')
  let header = 1
  if ((bytes[0]! & 0x1f) === 0x1f) while ((bytes[header++] ?? 0) >= 0x80);
  const { at, length } = readLength(bytes, header)
  if (bytes.length < at + length) throw syntaxError('data truncated')
  return {
    tag: bytes[0]!,
    content: bytes.subarray(at, at + length),
    whole: bytes.subarray(0, at + length),
    rest: bytes.subarray(at + length),
  }
}

/** The elements that follow one another in these bytes. */
export const readElements = (bytes: Buffer): Element[] => {
  const found: Element[] = []
  for (let rest = bytes; rest.length > 0; rest = found.at(-1)!.rest) found.push(readElement(rest))
  return found
}
