/**
 * Options of a delete and events of a watch are kinds of every group: upstream registers them in each version
 * (apimachinery, pkg/apis/meta/v1: AddToGroupVersion), and its documents list all of those that they know.
 */
import { parseGroupVersion } from '#api/group-version.js'
import type { JsonObject } from '#json/value.js'
import { metaKinds } from '#openapi/schemas.js'

const names: ReadonlyMap<string, string> = new Map(
  ['DeleteOptions', 'WatchEvent'].map((kind) => [
    `io.k8s.apimachinery.pkg.apis.meta.v1.${kind}`,
    kind,
  ]),
)

/** `/apis/apps/v1/deployments` → `apps/v1`. */
const groupVersionOf = (path: string): string => /^\/apis\/([^/]+\/[^/]+)/.exec(path)?.[1] ?? 'v1'

/**
 * The document of one version names that version and the first one. Documents of all versions, and those of custom
 * resources, name every version that they know.
 */
export const metaKindVersions = (
  paths: readonly string[],
  { isWhole, isCustom }: { isWhole: boolean; isCustom: boolean },
): readonly string[] => {
  const { everywhere, builtInOnly } = metaKinds()
  if (isWhole) return [...everywhere, ...builtInOnly].sort(byGroup)
  return isCustom ? everywhere : [...new Set(['v1', ...paths.map(groupVersionOf)])]
}

/** The one without a group comes first. */
const byGroup = (a: string, b: string): number =>
  a.includes('/') === b.includes('/') ? (a < b ? -1 : 1) : a.includes('/') ? 1 : -1

export const isMetaKind = (name: string): boolean => names.has(name)

/** The schema of such a kind, as one of all these versions. */
export const ofVersions = (
  name: string,
  schema: JsonObject,
  versions: readonly string[],
): JsonObject => {
  const kind = names.get(name)!
  const known = versions.map((text) => {
    const { group, version } = parseGroupVersion(text)!
    return { group, kind, version }
  })
  return { ...schema, 'x-kubernetes-group-version-kind': known }
}
