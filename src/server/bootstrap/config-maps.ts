/** The contents of the ConfigMaps in kube-system that kube-apiserver keeps for others to read. */
import { formatDate } from '#api/clock.js'
import { legacyTokenTracking } from '#api/legacy-tokens.js'
import type { JsonObject } from '#json/value.js'
import { certificatesOf } from '#net/pem.js'
import type { ClientTrust } from '../credentials/client-trust.js'

/** How long an expired certificate is still listed: upstream's allowance for clocks that differ. */
const expirySlackMs = 5 * 60_000

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

/** One ConfigMap. `dataFor` makes its data from what is stored, or yields undefined if nothing has to change. */
export interface KeptConfigMap {
  readonly name: string
  dataFor(existing: Data | undefined): Data | undefined
}

const listKeys = {
  'requestheader-allowed-names': 'allowedNames',
  'requestheader-extra-headers-prefix': 'extraPrefix',
  'requestheader-group-headers': 'group',
  'requestheader-uid-headers': 'uid',
  'requestheader-username-headers': 'username',
} as const

/** The stored values and those of this server, each once: servers that share a storage may differ. */
const combinedList = (shown: string, own: readonly string[]): string => {
  const before = shown === '' ? [] : (JSON.parse(shown) as string[])
  return JSON.stringify([...new Set([...before, ...own])])
}

const combinedTrust = (
  shown: Data,
  { authorities, requestHeader }: ClientTrust,
  now: number,
): Data => {
  const bundle = (key: string, own: readonly string[]): string =>
    combineAuthorities([shown[key] ?? '', ...own], now)
  return {
    'client-ca-file': bundle('client-ca-file', authorities),
    'requestheader-client-ca-file': bundle('requestheader-client-ca-file', [
      requestHeader.authority,
    ]),
    ...Object.fromEntries(
      Object.entries(listKeys).map(([key, name]) => [
        key,
        combinedList(shown[key] ?? '', requestHeader[name]),
      ]),
    ),
  }
}

/** Aggregated API servers and the delegating authentication of controllers read here which client certificates count. */
const authenticationConfigMap = (trust: ClientTrust, now: number): KeptConfigMap => ({
  name: 'extension-apiserver-authentication',
  dataFor: (existing) => {
    let combined: Data
    try {
      combined = combinedTrust(existing ?? {}, trust, now)
    } catch (error) {
      // As upstream: data that somebody else wrote and that cannot be read is left alone.
      if (existing === undefined) throw error
      return undefined
    }
    const isSame = Object.entries(combined).every(([key, value]) => existing?.[key] === value)
    return isSame ? undefined : { ...existing, ...combined }
  },
})

/** Since when the uses of Secret tokens are recorded; a cleaner of such tokens counts from there. */
const tokenTrackingConfigMap = (now: number): KeptConfigMap => ({
  name: legacyTokenTracking.name,
  dataFor: (existing) => {
    const since = existing?.since ?? ''
    if (/^\d{4}-\d{2}-\d{2}$/.test(since) && !Number.isNaN(Date.parse(since))) return undefined
    return { ...existing, since: formatDate(now) }
  },
})

export const keptConfigMaps = (trust: ClientTrust, now: number): KeptConfigMap[] => [
  authenticationConfigMap(trust, now),
  tokenTrackingConfigMap(now),
]

export const dataOf = (object: JsonObject): Data => (object.data ?? {}) as Data
