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

const truncated = 'asn1: syntax error: data truncated'

/** The first element of these bytes. Throws, in the words of Go's encoding/asn1, when they are too few. */
export const readElement = (bytes: Buffer): Element => {
  if (bytes.length === 0) throw new Error('asn1: syntax error: sequence truncated')
  if (bytes.length < 2) throw new Error(truncated)
  let header = 2
  let length = bytes[1]!
  if (length >= 0x80) {
    const count = length & 0x7f
    if (count === 0 || count > 4 || bytes.length < 2 + count) throw new Error(truncated)
    length = bytes.readUIntBE(2, count)
    header += count
  }
  if (bytes.length < header + length) throw new Error(truncated)
  return {
    tag: bytes[0]!,
    content: bytes.subarray(header, header + length),
    whole: bytes.subarray(0, header + length),
    rest: bytes.subarray(header + length),
  }
}

/** The elements that follow one another in these bytes. */
export const readElements = (bytes: Buffer): Element[] => {
  const found: Element[] = []
  for (let rest = bytes; rest.length > 0; rest = found.at(-1)!.rest) found.push(readElement(rest))
  return found
}
