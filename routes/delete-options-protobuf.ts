/** DeleteOptions in protobuf: the one body that clients send in it to every resource, whatever they read. */
import { badRequest } from '#api/errors.js'
import {
  bytesOf,
  ProtobufError,
  type WireField,
  wireFields,
} from '#registry/decode/protobuf-reader.js'
import type { DeleteOptions } from '#registry/resource-definition.js'

const magic = Buffer.from('k8s\0')

const textOf = (value: WireField['value']): string => bytesOf(value).toString('utf8')

const readPreconditions = (bytes: Buffer): NonNullable<DeleteOptions['preconditions']> => {
  const preconditions: NonNullable<DeleteOptions['preconditions']> = {}
  for (const { number, value } of wireFields(bytes)) {
    if (number === 1) preconditions.uid = textOf(value)
    if (number === 2) preconditions.resourceVersion = textOf(value)
  }
  return preconditions
}

/** Field numbers of meta/v1 generated.proto. */
const readOptions = (bytes: Buffer): DeleteOptions => {
  const options: DeleteOptions = {}
  for (const { number, value } of wireFields(bytes)) {
    if (number === 1) options.gracePeriodSeconds = Number(value)
    else if (number === 2) options.preconditions = readPreconditions(bytesOf(value))
    else if (number === 3) options.orphanDependents = value === 1n
    else if (number === 4) options.propagationPolicy = textOf(value)
    else if (number === 5) options.dryRun = [...(options.dryRun ?? []), textOf(value)]
    else if (number === 6) options.ignoreStoreReadErrorWithClusterBreakingPotential = value === 1n
  }
  return options
}

/** The envelope is runtime.Unknown: its second field is the object. Throws 400. */
export const decodeDeleteOptionsProtobuf = (body: Buffer): DeleteOptions => {
  if (!body.subarray(0, 4).equals(magic))
    throw badRequest(
      'provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]',
    )
  try {
    for (const { number, value } of wireFields(body.subarray(4)))
      if (number === 2) return readOptions(bytesOf(value))
  } catch (error) {
    if (error instanceof ProtobufError) throw badRequest(error.message)
    throw error
  }
  return {}
}
