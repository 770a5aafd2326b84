/** What the ConfigMaps of kube-system say that kube-apiserver itself keeps there for others to read. */

import { X509Certificate } from 'node:crypto'
import type { JsonObject } from '#api/object.js'

const block = /-----BEGIN CERTIFICATE-----[\s\S]*?-----END CERTIFICATE-----/g

/** How long a certificate may have ended and yet be shown: upstream's allowance for clocks that differ. */
const expirySlackMs = 5 * 60_000

const certificatesOf = (pem: string): X509Certificate[] =>
  (pem.match(block) ?? []).map((text) => new X509Certificate(text))

/**
 * The authorities of `bundles` (PEM) in their order, each once and without those that have ended: servers that share
 * a storage and have authorities of their own show those of all. Throws when a certificate cannot be read.
 */
export const combineAuthorities = (bundles: readonly string[], now: number): string => {
  const pems = bundles
    .flatMap(certificatesOf)
    .filter(({ validTo }) => Date.parse(validTo) > now - expirySlackMs)
    .map((certificate) => certificate.toString())
  return [...new Set(pems)].join('')
}

type Data = Record<string, string>

/** One ConfigMap: `dataFor` gives its data, made of what is there, or undefined when that stays as it is. */
export interface KeptConfigMap {
  readonly name: string
  dataFor(existing: Data | undefined): Data | undefined
}

/** Aggregated API servers and the delegating authentication of controllers read here which client certificates count. */
export const authenticationConfigMap = (
  authorities: readonly string[],
  now: number,
): KeptConfigMap => ({
  name: 'extension-apiserver-authentication',
  dataFor: (existing) => {
    const shown = existing?.['client-ca-file'] ?? ''
    let combined: string
    try {
      combined = combineAuthorities([shown, ...authorities], now)
    } catch (error) {
      // As upstream: what somebody wrote there and nobody can read is left to whoever wrote it.
      if (existing === undefined) throw error
      return undefined
    }
    return combined === shown ? undefined : { ...existing, 'client-ca-file': combined }
  },
})

/** Since when the uses of Secret tokens are recorded; a cleaner of such tokens counts from there. */
export const tokenTrackingConfigMap = (now: number): KeptConfigMap => ({
  name: 'kube-apiserver-legacy-service-account-token-tracking',
  dataFor: (existing) => {
    const since = existing?.since ?? ''
    if (/^\d{4}-\d{2}-\d{2}$/.test(since) && !Number.isNaN(Date.parse(since))) return undefined
    return { ...existing, since: new Date(now).toISOString().slice(0, 10) }
  },
})

export const dataOf = (object: JsonObject): Data => (object.data ?? {}) as Data
