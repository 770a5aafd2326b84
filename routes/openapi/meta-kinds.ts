/**
 * Options of a delete and events of a watch are kinds of every group: upstream registers them in each version
 * (apimachinery, pkg/apis/meta/v1: AddToGroupVersion), and its documents list all of those that they know.
 */
import { parseGroupVersion } from '#api/group-version.js'
import type { JsonObject } from '#json/value.js'
import { metaKinds } from '#openapi/schemas.js'

const kinds = ['DeleteOptions', 'WatchEvent']
const prefix = 'io.k8s.apimachinery.pkg.apis.meta.v1'

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

export const withMetaKinds = (
  schemas: Readonly<Record<string, JsonObject>>,
  versions: readonly string[],
): Record<string, JsonObject> => {
  const result = { ...schemas }
  for (const kind of kinds) {
    const name = `${prefix}.${kind}`
    const schema = result[name]
    if (schema === undefined) continue
    const known = versions.map((text) => {
      const { group, version } = parseGroupVersion(text)!
      return { group, kind, version }
    })
    result[name] = { ...schema, 'x-kubernetes-group-version-kind': known }
  }
  return result
}
