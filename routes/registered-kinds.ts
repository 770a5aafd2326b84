/** Which kinds upstream's decoders know, whatever kind a route is for. */
import { formatGroupVersion, type GroupVersionKind } from '#api/group-version.js'
import { mapValues } from '#json/entries.js'
import { getOwn } from '#json/object.js'
import { schemaNameOfKind } from '#openapi/schemas.js'
import type { ResourceTable } from '#registry/resource-table.js'
import { isFormerVersion } from './discovery/former-versions.js'

/** Kinds of meta/v1 that every built-in version knows (apimachinery, meta/v1/register.go AddToGroupVersion). */
const metaKinds = new Set([
  'CreateOptions',
  'DeleteOptions',
  'GetOptions',
  'ListOptions',
  'PatchOptions',
  'UpdateOptions',
  'WatchEvent',
])

/** Kinds of meta/v1 that are known by their name, with any apiVersion (the same file, AddUnversionedTypes). */
const unversionedKinds = new Set([
  'APIGroup',
  'APIGroupList',
  'APIResourceList',
  'APIVersions',
  'Status',
])

type KindsByVersion = Readonly<Record<string, readonly string[]>>

const withLists = (kinds: KindsByVersion): KindsByVersion =>
  mapValues(kinds, (names) => names.flatMap((name) => [name, `${name}List`]))

/** Kinds that OpenAPI does not name, by their apiVersion: most are of versions that are not served unless somebody asks for them. */
const unnamedKinds: KindsByVersion = {
  v1: [
    'List',
    'NodeProxyOptions',
    'PodAttachOptions',
    'PodExecOptions',
    'PodLogOptions',
    'PodPortForwardOptions',
    'PodProxyOptions',
    'PodStatusResult',
    'RangeAllocation',
    'SerializedReference',
    'ServiceProxyOptions',
  ],
  'admission.k8s.io/v1': ['AdmissionReview'],
  'admission.k8s.io/v1beta1': ['AdmissionReview'],
  'apiextensions.k8s.io/v1': ['ConversionReview'],
  'apiextensions.k8s.io/v1beta1': ['ConversionReview'],
  'imagepolicy.k8s.io/v1alpha1': ['ImageReview'],
  ...withLists({
    'certificates.k8s.io/v1alpha1': ['ClusterTrustBundle'],
    'certificates.k8s.io/v1beta1': ['ClusterTrustBundle', 'PodCertificateRequest'],
    'coordination.k8s.io/v1alpha2': ['LeaseCandidate'],
    'coordination.k8s.io/v1beta1': ['LeaseCandidate'],
    'internal.apiserver.k8s.io/v1alpha1': ['StorageVersion'],
    'resource.k8s.io/v1alpha3': ['DeviceTaintRule', 'ResourcePoolStatusRequest'],
    'resource.k8s.io/v1beta2': ['DeviceTaintRule'],
    'scheduling.k8s.io/v1alpha2': ['PodGroup', 'Workload'],
    'storagemigration.k8s.io/v1beta1': ['StorageVersionMigration'],
  }),
}

/** Kinds of these groups are registered apart from all others (apiextensions-apiserver, apiserver.go; kube-aggregator, scheme.go). */
const groupsApart = new Set(['apiextensions.k8s.io', 'apiregistration.k8s.io'])

const schemeOf = (group: string): string => (groupsApart.has(group) ? group : '')

/** Is it a kind of a version that is no longer served? */
const isFormerKind = ({ group, version, kind: name }: GroupVersionKind): boolean => {
  const kind = name.replace(/(?<=.)List$/, '')
  if (!isFormerVersion({ group, version }, { group, kind })) return false
  if (group === 'extensions' || kind === 'Scale') return true
  return schemaNameOfKind({ group, version: 'v1', kind }) !== undefined
}

const isMetaKind = ({ group, version, kind }: GroupVersionKind, table: ResourceTable): boolean => {
  if (unversionedKinds.has(kind)) return true
  if (!metaKinds.has(kind)) return false
  for (const { gvr, isCustom } of table)
    if (!isCustom && gvr.group === group && gvr.version === version) return true
  return false
}

interface RegisteredKind {
  /** Undefined: its fields are not known here. */
  schemaName: string | undefined
  /** Of its Go type: `v1`. */
  goPackage: string
}

/** Undefined: a decoder for objects of `group` does not know it. */
export const registeredKind = (
  said: GroupVersionKind,
  group: string,
  table: ResourceTable,
): RegisteredKind | undefined => {
  const isApart = schemeOf(said.group) !== schemeOf(group)
  // The version v1 without a group is in each scheme, with these kinds alone.
  if (isMetaKind(said, table) && (!isApart || said.group === '' || unversionedKinds.has(said.kind)))
    return {
      schemaName: schemaNameOfKind({ group: '', version: 'v1', kind: said.kind }),
      goPackage: 'v1',
    }
  if (isApart) return undefined
  const schemaName = schemaNameOfKind(said)
  const isRegistered =
    schemaName !== undefined ||
    table.byKind(said)?.isCustom === false ||
    getOwn(unnamedKinds, formatGroupVersion(said))?.includes(said.kind) === true ||
    isFormerKind(said)
  return isRegistered ? { schemaName, goPackage: said.version } : undefined
}
