/**
 * What kube-apiserver's etcd would say of a write: the client refuses to send, and the server to take, more than so much.
 * Counted is the transaction that upstream sends, `etcdserverpb.TxnRequest` (client/v3/kubernetes/client.go).
 */
import { limits } from '#limits'
import { StorageError } from '#storage/driver.js'

interface CountedWrite {
  /** As it is called in etcd. */
  readonly key: string
  /** As kube-apiserver would store it. */
  readonly valueBytes: number
  /** Of the version that is replaced; 0 where there is none. */
  readonly modRevision: number
  readonly hasLease: boolean
}

const varintBytes = (value: number): number => {
  let bytes = 1
  for (let rest = value; rest > 0x7f; rest = Math.floor(rest / 128)) bytes++
  return bytes
}

/** A field of so many bytes; the numbers of all fields here are below 16. */
const fieldBytes = (length: number): number => 1 + varintBytes(length) + length

/** Ids of leases have 63 bits, those of requests 64, of which the first is that of the member's id: set for every other one. */
const leaseIdBytes = 9
const requestIdBytes = 10

const transactionBytes = ({ key, valueBytes, modRevision, hasLease }: CountedWrite): number => {
  const keyField = fieldBytes(Buffer.byteLength(key))
  const target = 2
  const compare = target + keyField + 1 + varintBytes(modRevision)
  const put = keyField + fieldBytes(valueBytes) + (hasLease ? 1 + leaseIdBytes : 0)
  // An update asks for what is stored, if another version is; a create does not.
  const range = modRevision > 0 ? fieldBytes(fieldBytes(keyField)) : 0
  return fieldBytes(compare) + fieldBytes(fieldBytes(put)) + range
}

/** The transaction as a member proposes it to the others: `InternalRaftRequest`, whose header is field 100. */
const proposalBytes = (transaction: number): number =>
  fieldBytes(transaction) + 1 + fieldBytes(1 + requestIdBytes)

/** The error of a write that kube-apiserver could not make. */
export const refusalOf = (write: CountedWrite): StorageError | undefined => {
  const bytes = transactionBytes(write)
  if (bytes > limits.etcdSentBytesMax)
    return new StorageError(
      'TooLarge',
      `rpc error: code = ResourceExhausted desc = trying to send message larger than max (${bytes} vs. ${limits.etcdSentBytesMax})`,
    )
  return proposalBytes(bytes) > limits.etcdRequestBytesMax
    ? new StorageError('TooLarge', 'etcdserver: request is too large')
    : undefined
}
