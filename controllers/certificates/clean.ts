/** How long requests for certificates are kept (upstream's csrcleaner). */
import { X509Certificate } from 'node:crypto'
import { parseTime } from '#api/clock.js'
import { pemBlocks } from '#net/pem.js'
import type { SigningRequest } from './sign.js'

const hourMs = 3_600_000
const decidedMs = hourMs
/** Of what nobody has decided, and of what was approved and nobody has signed. */
const pendingMs = 24 * hourMs

/** When the certificate ends; undefined for what cannot be read. */
const endOf = (certificate: string): number | undefined => {
  const [block] = pemBlocks(Buffer.from(certificate, 'base64').toString('latin1'))
  try {
    return block && Date.parse(new X509Certificate(block.bytes).validTo)
  } catch {
    return undefined
  }
}

/** Since when the request is too old, in milliseconds since the epoch. */
export const overSince = ({ metadata, status }: SigningRequest): number => {
  const { conditions = [], certificate } = status ?? {}
  if (conditions.length === 0) return parseTime(metadata.creationTimestamp ?? '') + pendingMs
  const ends = conditions.flatMap(({ type, lastUpdateTime }) => {
    if (!lastUpdateTime) return []
    const since = parseTime(lastUpdateTime)
    if (type === 'Approved') return [since + (certificate ? decidedMs : pendingMs)]
    return type === 'Denied' || type === 'Failed' ? [since + decidedMs] : []
  })
  const isApproved = conditions.some(({ type }) => type === 'Approved')
  const end = certificate && isApproved ? endOf(certificate) : undefined
  return Math.min(...ends, end ?? Number.POSITIVE_INFINITY)
}
