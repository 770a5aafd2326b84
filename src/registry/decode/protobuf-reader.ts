/** The wire format of protobuf, field by field. */

export class ProtobufError extends Error {}
/** Of the message inside a sound envelope: its kind is known. */
export class ProtobufMessageError extends ProtobufError {}

export interface WireField {
  readonly number: number
  /** Bytes of a length-delimited or fixed field, else the varint as a signed 64-bit integer. */
  readonly value: Buffer | bigint
}

const truncated = (): ProtobufError => new ProtobufError('unexpected EOF')

/** Throws a ProtobufError when the bytes end too early or have a wire type that is none. */
export function* wireFields(bytes: Buffer): Generator<WireField> {
  let at = 0
  const varint = (): bigint => {
    let value = 0n
    for (let shift = 0n; shift < 70n; shift += 7n) {
      const byte = bytes[at++]
      if (byte === undefined) throw truncated()
      value |= BigInt(byte & 0x7f) << shift
      if (byte < 0x80) return BigInt.asIntN(64, value)
    }
    throw new ProtobufError('proto: integer overflow')
  }
  const take = (length: number): Buffer => {
    if (length < 0 || at + length > bytes.length) throw truncated()
    const part = bytes.subarray(at, at + length)
    at += length
    return part
  }
  while (at < bytes.length) {
    const tag = Number(varint())
    const number = tag >>> 3
    const wireType = tag & 7
    if (number === 0)
      throw new ProtobufError(`proto: illegal tag ${number} (wire type ${wireType})`)
    if (wireType === 0) yield { number, value: varint() }
    else if (wireType === 1) yield { number, value: take(8) }
    else if (wireType === 2) yield { number, value: take(Number(varint())) }
    else if (wireType === 5) yield { number, value: take(4) }
    else throw new ProtobufError(`proto: illegal wireType ${wireType}`)
  }
}

/** The value of a field that holds text, bytes or a message. */
export const bytesOf = (value: WireField['value']): Buffer => {
  if (typeof value === 'bigint') throw new ProtobufError('proto: wrong wireType = 0')
  return value
}
export const varintOf = (value: WireField['value']): bigint => {
  if (typeof value !== 'bigint') throw new ProtobufError('proto: wrong wireType = 2')
  return value
}
