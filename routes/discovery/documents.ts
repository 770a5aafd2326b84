/** The discovery documents, made from rows of the resource table. Upstream: pkg/endpoints/discovery. */
import { compareVersions, formatGroupVersion } from '#api/group-version.js'
import type { JsonObject } from '#json/value.js'
import { bootstrapObjects } from '#openapi/schemas.js'
import type { ResourceDefinition, Verb } from '#registry/resource-definition.js'
import type { RemoteVersion } from './remote-versions.js'

export interface GroupVersions {
  readonly group: string
  /** Newest and most mature first; the first is preferred. */
  readonly versions: readonly {
    readonly version: string
    readonly rows: readonly ResourceDefinition[]
    /** The priority of its APIService. */
    readonly priority?: Priority
    /** The discovery document of another server, if that one serves the version. */
    readonly remote?: RemoteVersion
  }[]
}

interface Priority {
  readonly group: number
  readonly version: number
}

/** The priority of custom resources (upstream, crdRegistrationController). */
export const customPriority: Priority = { group: 1000, version: 100 }

let builtIn: ReadonlyMap<string, Priority> | undefined

/** Priorities of the APIServices that this server itself makes, by their names; its own group is before all others. */
const builtInPriorities = (): ReadonlyMap<string, Priority> => {
  builtIn ??= new Map([
    ['v1.apiregistration.k8s.io', { group: 20_001, version: 0 }],
    ...(bootstrapObjects()['/apis/apiregistration.k8s.io/v1/apiservices'] ?? []).map(
      ({ metadata, spec }): [string, Priority] => {
        const { groupPriorityMinimum, versionPriority } = spec as Record<string, number>
        return [
          (metadata as { name: string }).name,
          { group: groupPriorityMinimum!, version: versionPriority! },
        ]
      },
    ),
  ])
  return builtIn
}

type Version = GroupVersions['versions'][number]

const nameOf = (group: string, { version }: Version): string => `${version}.${group}`

const priorityOf = (group: string, version: Version): Priority => {
  // Until its APIService is known: the priority that the APIService will have.
  return version.priority ?? builtInPriorities().get(nameOf(group, version)) ?? customPriority
}

const ordered = (group: string, versions: readonly Version[]): GroupVersions => ({
  group,
  versions: versions.toSorted(
    (a, b) =>
      priorityOf(group, b).version - priorityOf(group, a).version ||
      compareVersions(a.version, b.version),
  ),
})

/** Groups in the order of discovery: by the priority of their APIServices, then by the name of the first one. */
export const groupRows = (
  rows: Iterable<ResourceDefinition>,
  remotes: readonly RemoteVersion[],
): GroupVersions[] => {
  const groups = new Map<string, Map<string, Version>>()
  const versionsOf = (group: string): Map<string, Version> => {
    let versions = groups.get(group)
    if (versions === undefined) groups.set(group, (versions = new Map()))
    return versions
  }
  for (const row of rows) {
    const { group, version } = row.gvr
    const versions = versionsOf(group)
    const known = versions.get(version)
    if (known === undefined) versions.set(version, { version, rows: [row] })
    else (known.rows as ResourceDefinition[]).push(row)
  }
  for (const remote of remotes) {
    const { group, version, isLocal } = remote
    const priority = { group: remote.groupPriority, version: remote.versionPriority }
    const served = isLocal ? groups.get(group)?.get(version) : undefined
    const shown = served ?? { version, rows: [], remote }
    versionsOf(group).set(version, { ...shown, priority })
  }
  const keyed = [...groups].map(([name, versions]) => {
    const group = ordered(name, [...versions.values()])
    return {
      group,
      priority: Math.max(...group.versions.map((one) => priorityOf(name, one).group)),
      first: nameOf(name, group.versions[0]!),
    }
  })
  return keyed
    .sort((a, b) => b.priority - a.priority || (a.first < b.first ? -1 : 1))
    .map(({ group }) => group)
}

interface ShownSubresource {
  name: string
  group: string
  version: string
  kind: string
  verbs: readonly string[]
}

const statusVerbs = ['get', 'patch', 'update']

/** `status` first for custom resources, in order of names for built-in ones. */
const subresourcesOf = (row: ResourceDefinition): ShownSubresource[] => {
  const shown = [
    ...(row.hasStatus ? [{ name: 'status', ...row.gvk, verbs: statusVerbs }] : []),
    ...row.subresources.map(({ name, kind, verbs }) => ({ ...kind, name, verbs })),
  ]
  return row.isCustom ? shown : shown.sort((a, b) => (a.name < b.name ? -1 : 1))
}

const byName = (a: ResourceDefinition, b: ResourceDefinition) =>
  a.gvr.resource < b.gvr.resource ? -1 : 1

const shortAndCategories = (row: ResourceDefinition) => ({
  ...(row.shortNames.length > 0 ? { shortNames: [...row.shortNames] } : {}),
  ...(row.categories.length > 0 ? { categories: [...row.categories] } : {}),
})

/** The verbs that upstream's discovery controller lists for a terminating definition. Patches and updates still work. */
const terminatingVerbs: readonly Verb[] = ['delete', 'deletecollection', 'get', 'list', 'watch']

const verbsOf = (row: ResourceDefinition): Verb[] => [
  ...(row.isTerminating === true ? terminatingVerbs : row.verbs),
]

const legacyEntries = (row: ResourceDefinition): JsonObject[] => [
  {
    name: row.gvr.resource,
    singularName: row.singular,
    namespaced: row.namespaced,
    kind: row.gvk.kind,
    verbs: verbsOf(row),
    ...shortAndCategories(row),
    ...(row.storageVersionHash === undefined ? {} : { storageVersionHash: row.storageVersionHash }),
  },
  ...subresourcesOf(row).map((sub) => ({
    name: `${row.gvr.resource}/${sub.name}`,
    singularName: '',
    namespaced: row.namespaced,
    ...(sub.group === row.gvk.group && sub.version === row.gvk.version
      ? {}
      : { group: sub.group, version: sub.version }),
    kind: sub.kind,
    verbs: [...sub.verbs],
  })),
]

/** `/api/v1`, `/apis/apps/v1`. Upstream leaves apiVersion out of the document of the core group. */
export const resourceList = (
  gv: { group: string; version: string },
  rows: readonly ResourceDefinition[],
): JsonObject => ({
  kind: 'APIResourceList',
  ...(gv.group === '' ? {} : { apiVersion: 'v1' }),
  groupVersion: formatGroupVersion(gv),
  resources: [...rows].sort(byName).flatMap(legacyEntries),
})

const versionEntry = (group: string, version: string) => ({
  groupVersion: formatGroupVersion({ group, version }),
  version,
})

const groupEntry = ({ group, versions }: GroupVersions): JsonObject => ({
  name: group,
  versions: versions.map(({ version }) => versionEntry(group, version)),
  preferredVersion: versionEntry(group, versions[0]!.version),
})

/** `/apis/apps`. */
export const groupDocument = (group: GroupVersions): JsonObject => ({
  kind: 'APIGroup',
  apiVersion: 'v1',
  ...groupEntry(group),
})

/** `/apis`. */
export const groupList = (groups: readonly GroupVersions[]): JsonObject => ({
  kind: 'APIGroupList',
  apiVersion: 'v1',
  groups: groups.map(groupEntry),
})

/** `/api`. */
export const coreVersions = (serverAddress: string): JsonObject => ({
  kind: 'APIVersions',
  versions: ['v1'],
  serverAddressByClientCIDRs: [{ clientCIDR: '0.0.0.0/0', serverAddress }],
})

const aggregatedResource = (row: ResourceDefinition): JsonObject => {
  // Built-in rows say their kind without group and version, unless those differ from the document's.
  const shown = (kind: { group: string; version: string; kind: string }): JsonObject =>
    !row.isCustom && kind.group === row.gvk.group && kind.version === row.gvk.version
      ? { group: '', version: '', kind: kind.kind }
      : { group: kind.group, version: kind.version, kind: kind.kind }
  const subresources = subresourcesOf(row).map((sub) => ({
    subresource: sub.name,
    responseKind: shown(sub),
    verbs: [...sub.verbs],
  }))
  return {
    resource: row.gvr.resource,
    responseKind: shown(row.gvk),
    scope: row.namespaced ? 'Namespaced' : 'Cluster',
    singularResource: row.singular,
    verbs: verbsOf(row),
    ...shortAndCategories(row),
    ...(subresources.length > 0 ? { subresources } : {}),
  }
}

const aggregatedVersion = ({ version, rows, remote }: Version): JsonObject => {
  if (remote === undefined)
    return {
      version,
      resources: [...rows].sort(byName).map(aggregatedResource),
      freshness: 'Current',
    }
  const { resources = [], freshness } = remote
  return { version, ...(resources.length > 0 ? { resources: [...resources] } : {}), freshness }
}

/** `/api` and `/apis` in aggregated form. */
export const aggregatedList = (groups: readonly GroupVersions[]): JsonObject => ({
  kind: 'APIGroupDiscoveryList',
  apiVersion: 'apidiscovery.k8s.io/v2',
  metadata: {},
  items: groups.flatMap(({ group, versions }) => {
    const served = versions.filter(({ remote }) => remote?.isLocal !== true)
    if (served.length === 0) return []
    const metadata: JsonObject = group === '' ? {} : { name: group }
    return [{ metadata, versions: served.map(aggregatedVersion) }]
  }),
})
