/** Warnings about volumes (kubernetes, pkg/api/pod/warnings.go). */

import { child, index } from '#api/field-error.js'
import type { Fields } from '#api/object.js'
import { isWholeQuantity, parseQuantity } from '#api/quantity.js'
import { compareTexts } from '#go/compare-texts.js'
import { goQuote } from '#go/quote.js'
import { trimRight } from '#go/trim-right.js'
import { isGiven } from '#json/given-empty.js'
import { limits } from '#limits'

const gone = (deprecated: string, since: string): string =>
  `deprecated in ${deprecated}, non-functional in ${since}+`

const deprecated: Readonly<Record<string, string>> = {
  gitRepo: 'deprecated in v1.11, and disabled by default in v1.33+',
  photonPersistentDisk: gone('v1.11', 'v1.16'),
  scaleIO: gone('v1.16', 'v1.22'),
  flocker: gone('v1.22', 'v1.25'),
  storageos: gone('v1.22', 'v1.25'),
  quobyte: gone('v1.22', 'v1.25'),
  glusterfs: gone('v1.25', 'v1.26'),
  cephfs: gone('v1.28', 'v1.31'),
  rbd: gone('v1.28', 'v1.31'),
}
const printed: Readonly<Record<string, string>> = { storageos: 'storageOS' }

interface Placed {
  path: string
  /** What puts a file there: `ConfigMap "x"`. */
  source: string
}

const placed = (path: string | undefined, source: string): Placed => ({
  path: trimRight(path ?? '', '/'),
  source,
})

const itemsOf = (items: Fields[] | undefined, source = ''): Placed[] =>
  (items ?? []).map(({ path }) => placed(path, source))

const overlaps = (a: Placed, b: Placed): boolean =>
  a.path !== '' &&
  b.path !== '' &&
  (`${a.path}/`.startsWith(`${b.path}/`) || `${b.path}/`.startsWith(`${a.path}/`))

const show = ({ path, source }: Placed): string =>
  source === '' ? goQuote(path) : `${goQuote(path)} (${source})`

/** For each file the first that it overlaps with, by number: sorted, those below a path follow it. */
const firstOverlaps = (files: readonly Placed[]): number[] => {
  const sorted = files
    .map(({ path }, at) => ({ at, folder: `${path}/` }))
    .filter(({ folder }) => folder !== '/')
    .sort((a, b) => compareTexts(a.folder, b.folder))
  const first = files.map(() => Number.POSITIVE_INFINITY)
  /** The entries above the current one, each with the first of itself, of those above it and of those below it so far. */
  const above: { at: number; folder: string; upwards: number; downwards: number }[] = []
  const leave = (): void => {
    const { at, downwards } = above.pop()!
    first[at] = Math.min(first[at]!, downwards)
    const parent = above.at(-1)
    if (parent) parent.downwards = Math.min(parent.downwards, at, downwards)
  }
  for (const { at, folder } of sorted) {
    while (above.length > 0 && !folder.startsWith(above.at(-1)!.folder)) leave()
    const upwards = above.at(-1)?.upwards ?? Number.POSITIVE_INFINITY
    first[at] = upwards
    above.push({ at, folder, upwards: Math.min(upwards, at), downwards: Number.POSITIVE_INFINITY })
  }
  while (above.length > 0) leave()
  return first
}

/**
 * No more than an answer can hold: a Pod may have tens of thousands of files, and each could overlap with each. A file
 * is compared with all before it only if that gives a warning.
 */
const overlapWarnings = (title: string, files: readonly Placed[]): string[] => {
  const first = firstOverlaps(files)
  const told = new Set<string>()
  /** One of each text: others would give no new warning. */
  const seen: Placed[] = []
  /** Of each text, how many of `seen` it was compared with. */
  const compared = new Map<string, number>()
  let runes = 0
  for (const [at, file] of files.entries()) {
    if (first[at] === Number.POSITIVE_INFINITY) continue
    const text = show(file)
    const from = compared.get(text)
    if (first[at]! < at) {
      for (const other of seen.slice(from)) {
        if (!overlaps(file, other)) continue
        const warning = `${title}: overlapping paths: ${text} with ${show(other)}`
        if (told.has(warning)) continue
        told.add(warning)
        runes += Math.min(warning.length, limits.longWarningRunesMax)
        if (runes > limits.warningsRunesMax) return [...told]
      }
      compared.set(text, seen.length)
    } else compared.set(text, 0)
    if (from === undefined) seen.push(file)
  }
  return [...told]
}

const certificatePaths = {
  certificateChainPath: 'chain',
  keyPath: 'key',
  credentialBundlePath: 'credential bundle',
} as const

/** What one source of a projected volume puts there; the first that has something to say is looked at. */
const filesOf = (source: Fields): Placed[] => {
  const { configMap, secret, downwardAPI, serviceAccountToken, clusterTrustBundle } = source
  if (isGiven(configMap, 'items'))
    return itemsOf(configMap.items, `ConfigMap ${goQuote(configMap.name)}`)
  if (isGiven(secret, 'items')) return itemsOf(secret.items, `Secret ${goQuote(secret.name)}`)
  if (isGiven(downwardAPI, 'items')) return itemsOf(downwardAPI.items, 'DownwardAPI')
  if (serviceAccountToken) return [placed(serviceAccountToken.path, 'ServiceAccountToken')]
  if (clusterTrustBundle) {
    const name = clusterTrustBundle.name ?? clusterTrustBundle.signerName ?? ''
    return [placed(clusterTrustBundle.path, `ClusterTrustBundle ${goQuote(name)}`)]
  }
  return Object.entries(certificatePaths)
    .filter(([field]) => source.podCertificate?.[field])
    .map(([field, what]) => placed(source.podCertificate[field], `PodCertificate ${what}`))
}

const projectedWarnings = (volume: string, title: string, sources: readonly Fields[]): string[] => {
  const empty = sources.filter((source) => Object.keys(source).length === 0)
  return [
    ...empty.map(() => `volume ${goQuote(volume)} (Projected) has no sources provided`),
    ...overlapWarnings(title, sources.flatMap(filesOf)),
  ]
}

const fileWarnings = (volume: Fields): string[] => {
  const { name, configMap, secret, downwardAPI, projected } = volume
  const title = (what: string): string => `volume ${goQuote(name)} (${what})`
  return [
    ...(configMap
      ? overlapWarnings(title(`ConfigMap ${goQuote(configMap.name)}`), itemsOf(configMap.items))
      : []),
    ...(secret
      ? overlapWarnings(title(`Secret ${goQuote(secret.secretName)}`), itemsOf(secret.items))
      : []),
    ...(downwardAPI ? overlapWarnings(title('DownwardAPI'), itemsOf(downwardAPI.items)) : []),
    ...(projected ? projectedWarnings(name, title('Projected'), projected.sources ?? []) : []),
  ]
}

/** Storage is counted in whole bytes. */
export const claimSpecWarnings = (path: string, spec: Fields | undefined): string[] =>
  ['requests', 'limits'].flatMap((list) => {
    const storage: string | undefined = spec?.resources?.[list]?.storage
    if (storage === undefined || isWholeQuantity(parseQuantity(storage))) return []
    const at = index(child(path, 'resources', list), 'storage')
    return [`${at}: fractional byte value ${goQuote(storage)} is invalid, must be an integer`]
  })

const claimWarnings = (path: string, { ephemeral }: Fields): string[] =>
  claimSpecWarnings(
    child(path, 'ephemeral', 'volumeClaimTemplate', 'spec'),
    ephemeral?.volumeClaimTemplate?.spec,
  )

export const volumeWarnings = (path: string, volumes: Fields[]): string[] => [
  ...volumes.flatMap((volume, i) => [
    ...Object.keys(deprecated)
      .filter((source) => volume[source] !== undefined)
      .map(
        (source) => `${child(index(path, i), printed[source] ?? source)}: ${deprecated[source]}`,
      ),
    ...claimWarnings(index(path, i), volume),
  ]),
  ...volumes.flatMap(fileWarnings),
]
