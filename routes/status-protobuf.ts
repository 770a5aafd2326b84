/** A Status in protobuf: the one answer that is sent in it to who asks for nothing else. Field numbers of meta/v1. */
import type { Status, StatusCause, StatusDetails } from '#api/status.js'

const magic = Buffer.from('k8s\0')

const varint = (value: number): Buffer => {
  const bytes: number[] = []
  let rest = value
  while (rest > 0x7f) {
    bytes.push((rest & 0x7f) | 0x80)
    rest = Math.floor(rest / 128)
  }
  return Buffer.from([...bytes, rest])
}
const message = (number: number, body: Buffer): Buffer =>
  Buffer.concat([varint((number << 3) | 2), varint(body.length), body])
const text = (number: number, value = ''): Buffer => message(number, Buffer.from(value))
/** Upstream writes singular fields even when they are empty. */
const integer = (number: number, value = 0): Buffer =>
  Buffer.concat([varint(number << 3), varint(value)])

const encodeCause = (cause: StatusCause): Buffer =>
  Buffer.concat([text(1, cause.reason), text(2, cause.message), text(3, cause.field)])

const encodeDetails = (details: StatusDetails): Buffer =>
  Buffer.concat([
    text(1, details.name),
    text(2, details.group),
    text(3, details.kind),
    ...(details.causes ?? []).map((cause) => message(4, encodeCause(cause))),
    integer(5, details.retryAfterSeconds),
    text(6, details.uid),
  ])

const encodeMeta = ({ metadata }: Status): Buffer =>
  Buffer.concat([
    text(1),
    text(2, metadata.resourceVersion),
    text(3, metadata.continue),
    ...(metadata.remainingItemCount === undefined ? [] : [integer(4, metadata.remainingItemCount)]),
  ])

export const encodeStatusProtobuf = (status: Status): Buffer => {
  const raw = Buffer.concat([
    message(1, encodeMeta(status)),
    text(2, status.status),
    text(3, status.message),
    text(4, status.reason),
    ...(status.details === undefined ? [] : [message(5, encodeDetails(status.details))]),
    integer(6, status.code),
  ])
  const typeMeta = Buffer.concat([text(1, status.apiVersion), text(2, status.kind)])
  return Buffer.concat([magic, message(1, typeMeta), message(2, raw), text(3), text(4)])
}
