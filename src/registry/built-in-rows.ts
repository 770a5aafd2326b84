/** The built-in rows of the resource table: the facts of openapi/data, merged with what a kind's file decides for itself. */
import {
  type GroupVersionKind,
  type GroupVersionResource,
  groupVersionPath,
  kindKey,
} from '#api/group-version.js'
import {
  type DiscoveredResource,
  type DiscoveredSubresource,
  discovery,
  schemaNameOfKind,
  tableColumns,
} from '#openapi/schemas.js'
import type {
  KindDefinition,
  ResourceDefinition,
  Strategy,
  Subresource,
  Verb,
} from './resource-definition.js'

// kube-apiserver lays out its keys by resource alone, but for the groups of its two inner servers and these old names.
const storagePrefixes: Readonly<Record<string, string>> = {
  replicationcontrollers: '/registry/controllers',
  endpoints: '/registry/services/endpoints',
  services: '/registry/services/specs',
  nodes: '/registry/minions',
  ingresses: '/registry/ingress',
}
const groupsOfInnerServers = new Set(['apiextensions.k8s.io', 'apiregistration.k8s.io'])

export const storagePrefixOf = (group: string, resource: string, isCustom = false): string =>
  isCustom || groupsOfInnerServers.has(group)
    ? `/registry/${group}/${resource}`
    : (storagePrefixes[resource] ?? `/registry/${resource}`)

// Kinds whose store upstream sets ReturnDeletedObject.
const kindsReturnedWhenDeleted = new Set([
  '/Pod',
  '/Service',
  '/ServiceAccount',
  '/PersistentVolume',
  '/PersistentVolumeClaim',
  '/PodTemplate',
  '/ResourceQuota',
  '/Namespace',
  'storage.k8s.io/StorageClass',
  'storage.k8s.io/CSIDriver',
  'storage.k8s.io/CSINode',
  'storage.k8s.io/VolumeAttachment',
  'storage.k8s.io/VolumeAttributesClass',
  'resource.k8s.io/DeviceClass',
  'resource.k8s.io/ResourceClaim',
  'resource.k8s.io/ResourceClaimTemplate',
  'resource.k8s.io/ResourceSlice',
])

// An update of these must name the version it changes (upstream's AllowUnconditionalUpdate).
const kindsWithoutUnconditionalUpdate = new Set([
  'apiextensions.k8s.io/CustomResourceDefinition',
  'admissionregistration.k8s.io/MutatingAdmissionPolicy',
  'admissionregistration.k8s.io/MutatingAdmissionPolicyBinding',
  'admissionregistration.k8s.io/MutatingWebhookConfiguration',
  'admissionregistration.k8s.io/ValidatingAdmissionPolicy',
  'admissionregistration.k8s.io/ValidatingAdmissionPolicyBinding',
  'admissionregistration.k8s.io/ValidatingWebhookConfiguration',
  'coordination.k8s.io/Lease',
  'node.k8s.io/RuntimeClass',
  'policy/PodDisruptionBudget',
  'storage.k8s.io/CSIDriver',
  'storage.k8s.io/CSINode',
  'storage.k8s.io/CSIStorageCapacity',
  'storage.k8s.io/VolumeAttachment',
])

// Where several versions share one stored form, the version that loses nothing is stored.
const storageVersions: Readonly<Record<string, GroupVersionKind>> = {
  'autoscaling/HorizontalPodAutoscaler': {
    group: 'autoscaling',
    version: 'v2',
    kind: 'HorizontalPodAutoscaler',
  },
  'events.k8s.io/Event': { group: '', version: 'v1', kind: 'Event' },
}

const connectSubresources = new Set(['attach', 'exec', 'log', 'portforward', 'proxy'])

const styleOf = (found: DiscoveredSubresource): Subresource['style'] => {
  if (connectSubresources.has(found.subresource)) return 'connect'
  return found.verbs.length === 1 && found.verbs[0] === 'create' ? 'create' : 'view'
}

const subresourcesOf = (
  parent: GroupVersionKind,
  row: DiscoveredResource,
  own: KindDefinition['subresources'] = [],
): Subresource[] =>
  (row.subresources ?? [])
    .filter((found) => found.subresource !== 'status')
    .map((found) => ({
      kind:
        found.responseKind.version === ''
          ? { ...parent, kind: found.responseKind.kind }
          : found.responseKind,
      verbs: found.verbs as Verb[],
      style: styleOf(found),
      ...own.find((o) => o.name === found.subresource),
      name: found.subresource,
    }))

const storageVersionHashOf = (gvr: GroupVersionResource): string | undefined => {
  const list = discovery().legacy[groupVersionPath(gvr)]?.resources as
    | { name: string; storageVersionHash?: string }[]
    | undefined
  return list?.find((r) => r.name === gvr.resource)?.storageVersionHash
}

interface RowSource {
  gvr: GroupVersionResource
  found: DiscoveredResource
  kinds: ReadonlyMap<string, KindDefinition>
}

const strategyOf = (
  groupKind: string,
  own: KindDefinition | undefined,
  stored: KindDefinition | undefined,
): Strategy => ({
  ...(kindsWithoutUnconditionalUpdate.has(groupKind) ? { allowUnconditionalUpdate: false } : {}),
  ...stored?.strategy,
  ...own?.strategy,
})

const builtInRow = ({ gvr, found, kinds }: RowSource): ResourceDefinition => {
  const gvk = { group: gvr.group, version: gvr.version, kind: found.responseKind.kind }
  const groupKind = `${gvk.group}/${gvk.kind}`
  const own = kinds.get(kindKey(gvk))
  const storageVersion = own?.storageVersion ?? storageVersions[groupKind] ?? gvk
  const stored = kinds.get(kindKey(storageVersion))
  let schemaName: string | undefined | null = null
  return {
    gvr,
    gvk,
    listKind: `${gvk.kind}List`,
    singular: found.singularResource,
    namespaced: found.scope === 'Namespaced',
    shortNames: found.shortNames ?? [],
    categories: found.categories ?? [],
    verbs: found.verbs as Verb[],
    hasStatus: (found.subresources ?? []).some((s) => s.subresource === 'status'),
    subresources: subresourcesOf(gvk, found, own?.subresources),
    storagePrefix: own?.storagePrefix ?? storagePrefixOf(gvr.group, gvr.resource),
    storedAsJson: groupsOfInnerServers.has(gvr.group),
    upstreamForm: own?.upstreamForm,
    storageVersion,
    convert: own?.convert,
    /** Looked up with the first object: a start on existing data reads no schemas. */
    get schemaName() {
      if (schemaName === null) schemaName = schemaNameOfKind(gvk)
      return schemaName
    },
    strategy: strategyOf(groupKind, own, stored === own ? undefined : stored),
    returnsDeletedObject: kindsReturnedWhenDeleted.has(groupKind),
    selectableFields: own?.selectableFields,
    ownFieldLabels: own?.ownFieldLabels,
    fieldAliases: own?.fieldAliases,
    fieldLabelError: own?.fieldLabelError,
    isNeverStored: own?.isNeverStored,
    notFoundAs: own?.notFoundAs,
    columns: tableColumns()[`${gvr.group}/${gvr.version}/${gvr.resource}`] ?? [],
    cells: own?.cells ?? stored?.cells,
    repeatsTableHeader: own?.repeatsTableHeader,
    hasTableOfStatus: own?.hasTableOfStatus,
    rowConditions: own?.rowConditions,
    rowOrder: own?.rowOrder,
    fieldAnnotations: own?.fieldAnnotations,
    isCustom: false,
    ttlSeconds: own?.ttlSeconds ?? stored?.ttlSeconds,
    storageVersionHash: storageVersionHashOf(gvr),
    deprecationWarning: own?.deprecationWarning,
  }
}

export const builtInRows = (kinds: ReadonlyMap<string, KindDefinition>): ResourceDefinition[] => {
  const groups = [...discovery().api.items, ...discovery().apis.items]
  return groups.flatMap((group) =>
    group.versions.flatMap(({ version, resources }) =>
      resources.map((found) =>
        builtInRow({
          gvr: { group: group.metadata.name ?? '', version, resource: found.resource },
          found,
          kinds,
        }),
      ),
    ),
  )
}
