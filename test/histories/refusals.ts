/** What a client may be told while a server or its store is in trouble, as kube-apiserver tells it. */

interface Refusal {
  readonly code: number
  readonly reason?: string
  readonly message: RegExp
  /** Nothing was written. */
  readonly isCertain?: boolean
  readonly isBare?: boolean
}

const etcdAway =
  /^etcdserver: (request timed out|leader changed|no leader|server stopped)|^rpc error: code = (Unavailable|Canceled) desc = |^context deadline exceeded$/

const refusals: readonly Refusal[] = [
  { code: 429, reason: 'TooManyRequests', message: /./, isCertain: true },
  // The write that fills etcd is made all the same, and told so (quotaApplierV3).
  { code: 500, message: /^etcdserver: mvcc: database space exceeded$/ },
  { code: 500, message: etcdAway },
  { code: 503, reason: 'ServiceUnavailable', message: /./, isCertain: true },
  {
    code: 504,
    reason: 'Timeout',
    message: /^Timeout: (request did not complete within r|Too large)/,
  },
  // Of upstream's timeout filter, which leaves out kind and apiVersion.
  { code: 504, reason: 'Timeout', message: /within the allotted timeout$/, isBare: true },
]

export const isOverloadOrFault = (code: number): boolean => code === 429 || code >= 500

/** Undefined for an answer that no server should give. */
// biome-ignore lint/suspicious/noExplicitAny: what came over the wire
export const refusalOf = (code: number, body: any): Refusal | undefined => {
  const { kind, apiVersion, status, message, reason } = body
  if (status !== 'Failure' || body.code !== code) return undefined
  return refusals.find(({ isBare = false, ...known }) => {
    const isKind = isBare ? kind === undefined : kind === 'Status' && apiVersion === 'v1'
    return isKind && known.code === code && known.reason === reason && known.message.test(message)
  })
}
