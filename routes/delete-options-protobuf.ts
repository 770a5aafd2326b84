/** DeleteOptions in protobuf: the one body that clients send in it to every resource, whatever they read. */
import { badRequest } from '#api/errors.js'
import type { DeleteOptions } from '#registry/resource-definition.js'

const magic = Buffer.from('k8s\0')

interface Field {
  readonly number: number
  /** Bytes for wire type 2, else the number. */
  readonly value: Buffer | number
}

const unreadable = (): Error => badRequest('unexpected EOF')

class Reader {
  readonly #bytes: Buffer
  #at = 0
  constructor(bytes: Buffer) {
    this.#bytes = bytes
  }

  #varint(): bigint {
    let value = 0n
    for (let shift = 0n; shift < 70n; shift += 7n) {
      const byte = this.#bytes[this.#at++]
      if (byte === undefined) throw unreadable()
      value |= BigInt(byte & 0x7f) << shift
      if (byte < 0x80) return BigInt.asIntN(64, value)
    }
    throw unreadable()
  }

  *fields(): Generator<Field> {
    while (this.#at < this.#bytes.length) {
      const tag = Number(this.#varint())
      const number = tag >> 3
      switch (tag & 7) {
        case 0:
          yield { number, value: Number(this.#varint()) }
          break
        case 2: {
          const length = Number(this.#varint())
          if (length < 0 || this.#at + length > this.#bytes.length) throw unreadable()
          yield { number, value: this.#bytes.subarray(this.#at, this.#at + length) }
          this.#at += length
          break
        }
        case 1:
          this.#at += 8
          break
        case 5:
          this.#at += 4
          break
        default:
          throw unreadable()
      }
    }
  }
}

const textOf = (value: Field['value']): string => {
  if (typeof value === 'number') throw unreadable()
  return value.toString('utf8')
}
const bytesOf = (value: Field['value']): Buffer => {
  if (typeof value === 'number') throw unreadable()
  return value
}

const readPreconditions = (bytes: Buffer): NonNullable<DeleteOptions['preconditions']> => {
  const preconditions: NonNullable<DeleteOptions['preconditions']> = {}
  for (const { number, value } of new Reader(bytes).fields()) {
    if (number === 1) preconditions.uid = textOf(value)
    if (number === 2) preconditions.resourceVersion = textOf(value)
  }
  return preconditions
}

/** Field numbers of meta/v1 generated.proto. */
const readOptions = (bytes: Buffer): DeleteOptions => {
  const options: DeleteOptions = {}
  for (const { number, value } of new Reader(bytes).fields()) {
    if (number === 1) options.gracePeriodSeconds = Number(value)
    else if (number === 2) options.preconditions = readPreconditions(bytesOf(value))
    else if (number === 3) options.orphanDependents = value === 1
    else if (number === 4) options.propagationPolicy = textOf(value)
    else if (number === 5) options.dryRun = [...(options.dryRun ?? []), textOf(value)]
    else if (number === 6) options.ignoreStoreReadErrorWithClusterBreakingPotential = value === 1
  }
  return options
}

/** The envelope is runtime.Unknown: its second field is the object. Throws 400. */
export const decodeDeleteOptionsProtobuf = (body: Buffer): DeleteOptions => {
  if (!body.subarray(0, 4).equals(magic))
    throw badRequest(
      'provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]',
    )
  for (const { number, value } of new Reader(body.subarray(4)).fields())
    if (number === 2) return readOptions(bytesOf(value))
  return {}
}
