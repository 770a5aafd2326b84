/** Warnings about volumes (kubernetes, pkg/api/pod/warnings.go). */
import { child, index } from '#api/field-error.js'
import type { Fields } from '#api/object.js'
import { parseQuantity } from '#api/quantity.js'

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
  /** `ConfigMap "x"`: who puts a file there. */
  source: string
}

const itemsOf = (items: Fields[] | undefined, source: string): Placed[] =>
  (items ?? []).map((item) => ({ path: item.path ?? '', source }))

const overlaps = (a: string, b: string): boolean =>
  a === b || a.startsWith(`${b}/`) || b.startsWith(`${a}/`)

const overlapWarnings = (title: string, files: Placed[], showSource: boolean): string[] => {
  const show = ({ path, source }: Placed): string =>
    showSource ? `"${path}" (${source})` : `"${path}"`
  return files.flatMap((file, i) =>
    files
      .slice(0, i)
      .filter((other) => overlaps(file.path, other.path))
      .map((other) => `${title}: overlapping paths: ${show(file)} with ${show(other)}`),
  )
}

const projectedFiles = (sources: readonly Fields[]): Placed[] =>
  sources.flatMap(({ secret, configMap, downwardAPI, serviceAccountToken }) => [
    ...(secret ? itemsOf(secret.items, `Secret "${secret.name}"`) : []),
    ...(configMap ? itemsOf(configMap.items, `ConfigMap "${configMap.name}"`) : []),
    ...(downwardAPI ? itemsOf(downwardAPI.items, 'DownwardAPI') : []),
    ...(serviceAccountToken
      ? [{ path: serviceAccountToken.path ?? '', source: 'ServiceAccountToken' }]
      : []),
  ])

const emptySourceWarnings = (name: string, sources: readonly Fields[]): string[] =>
  sources
    .filter((source) => Object.keys(source).length === 0)
    .map(() => `volume "${name}" (Projected) has no sources provided`)

const fileWarnings = (volume: Fields): string[] => {
  const { name, configMap, secret, downwardAPI, projected } = volume
  const title = (what: string): string => `volume "${name}" (${what})`
  return [
    ...(configMap
      ? overlapWarnings(title(`ConfigMap "${configMap.name}"`), itemsOf(configMap.items, ''), false)
      : []),
    ...(secret
      ? overlapWarnings(title(`Secret "${secret.secretName}"`), itemsOf(secret.items, ''), false)
      : []),
    ...(downwardAPI
      ? overlapWarnings(title('DownwardAPI'), itemsOf(downwardAPI.items, ''), false)
      : []),
    ...(projected
      ? [
          ...emptySourceWarnings(name, projected.sources ?? []),
          ...overlapWarnings(title('Projected'), projectedFiles(projected.sources ?? []), true),
        ]
      : []),
  ]
}

const claimWarnings = (path: string, volume: Fields): string[] => {
  const at = child(path, 'ephemeral', 'volumeClaimTemplate', 'spec', 'resources', 'requests')
  const storage: string | undefined =
    volume.ephemeral?.volumeClaimTemplate?.spec?.resources?.requests?.storage
  return storage === undefined || parseQuantity(storage).nano % 1_000_000_000n === 0n
    ? []
    : [`${index(at, 'storage')}: fractional byte value "${storage}" is invalid, must be an integer`]
}

export const volumeWarnings = (path: string, volumes: Fields[] = []): string[] =>
  volumes.flatMap((volume, i) => [
    ...Object.keys(deprecated)
      .filter((source) => volume[source] !== undefined)
      .map(
        (source) => `${child(index(path, i), printed[source] ?? source)}: ${deprecated[source]}`,
      ),
    ...claimWarnings(index(path, i), volume),
    ...fileWarnings(volume),
  ])
