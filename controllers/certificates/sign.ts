/** Reads and signs what a CertificateSigningRequest asks for. */

import { createPrivateKey, X509Certificate } from 'node:crypto'
import { writeAlternativeNames } from '#api/certificates/alternative-names.js'
import {
  type CertificateRequest,
  parseCertificateRequest,
} from '#api/certificates/certificate-request.js'
import { formatTime } from '#api/clock.js'
import type { PersistedObject } from '#api/object.js'
import { der, readElement } from '#net/der.js'
import { signCertificate, signerOf } from '#net/x509.js'

export interface SigningRequest extends PersistedObject {
  spec: {
    /** PEM in base64. */
    request: string
    signerName: string
    usages?: string[]
    username?: string
    uid?: string
    groups?: string[]
    extra?: Record<string, string[]>
    expirationSeconds?: number
  }
  status?: {
    certificate?: string
    conditions?: { type: string; status: string; reason?: string; lastUpdateTime?: string | null }[]
  }
}

const lifetimeMinMs = 600_000
/** Clocks of clients may be behind ours. */
const backdateMs = 300_000
/** What lasts as long as this is not to last longer for that. Upstream: PermissiveSigningPolicy. */
const longMs = 8 * 3_600_000

/** Bit numbers of the extension, from the left: RFC 5280, 4.2.1.3. */
const keyUsageBits: Record<string, number> = {
  'digital signature': 0,
  signing: 0,
  'content commitment': 1,
  'key encipherment': 2,
  'data encipherment': 3,
  'key agreement': 4,
}
const extendedUsageOf: Record<string, string> = {
  'server auth': '1.3.6.1.5.5.7.3.1',
  'client auth': '1.3.6.1.5.5.7.3.2',
  'code signing': '1.3.6.1.5.5.7.3.3',
}

/** Throws for what is no request, or one that its key did not sign. */
export const readRequest = ({ spec }: SigningRequest): CertificateRequest => {
  const request = parseCertificateRequest(spec.request)
  if ('error' in request) throw new Error(request.error)
  return request
}

const usageExtensions = (usages: readonly string[]): Buffer[] => {
  const numbers = usages.map((u) => keyUsageBits[u]).filter((n) => n !== undefined)
  const byte = numbers.reduce((bits, n) => bits | (0x80 >> n), 0)
  const purposes = usages.map((u) => extendedUsageOf[u]).filter((id) => id !== undefined)
  return [
    ...(numbers.length > 0
      ? [der.extension('2.5.29.15', der.bits(Buffer.from([byte]), 7 - Math.max(...numbers)), true)]
      : []),
    ...(purposes.length > 0
      ? [der.extension('2.5.29.37', der.sequence(...purposes.map(der.oid)))]
      : []),
  ]
}

/** Without a name of the subject they are all that says whom the certificate is for. */
const alternativeNames = ({ alternativeNames, subject }: CertificateRequest): Buffer[] => {
  if (alternativeNames.length === 0) return []
  const isAll = readElement(subject.written).content.length === 0
  return [der.extension('2.5.29.17', writeAlternativeNames(alternativeNames), isAll)]
}

/** The certificate, PEM in base64; it lasts for as long as is asked for, at most for `lifetimeMaxMs` and as long as the signer. */
export const signRequest = (
  request: SigningRequest,
  ca: { cert: string; key: string; lifetimeMaxMs: number },
  now: number,
): string => {
  const { lifetimeMaxMs } = ca
  const asked = readRequest(request)
  const wantedMs = (request.spec.expirationSeconds ?? Number.POSITIVE_INFINITY) * 1000
  const lifetimeMs = Math.min(lifetimeMaxMs, Math.max(lifetimeMinMs, wantedMs))
  const endMs = now + lifetimeMs - (lifetimeMs < longMs ? 0 : backdateMs)
  const signerEndMs = Date.parse(new X509Certificate(ca.cert).validTo)
  if (now >= signerEndMs)
    throw new Error(`the signer has expired: NotAfter=${formatTime(signerEndMs)}`)
  const certificate = signCertificate(
    {
      subject: asked.subject.written,
      publicKey: asked.publicKey,
      notBeforeMs: now - backdateMs,
      notAfterMs: Math.min(endMs, signerEndMs),
      extensions: [
        der.extension('2.5.29.19', der.sequence(), true),
        ...usageExtensions(request.spec.usages ?? []),
        ...alternativeNames(asked),
      ],
    },
    signerOf(ca.cert, createPrivateKey(ca.key)),
  )
  return Buffer.from(certificate).toString('base64')
}
