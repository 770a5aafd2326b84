/** Versions that upstream no longer serves, or not by default, but whose types it knows: it decodes bodies in them. */
import { getOwn } from '#json/object.js'

const byGroup: Readonly<Record<string, readonly string[]>> = {
  apps: ['v1beta1', 'v1beta2'],
  batch: ['v1beta1'],
  policy: ['v1beta1'],
  'admissionregistration.k8s.io': ['v1alpha1', 'v1beta1'],
  'apiextensions.k8s.io': ['v1beta1'],
  'apiregistration.k8s.io': ['v1beta1'],
  'authentication.k8s.io': ['v1alpha1', 'v1beta1'],
  'authorization.k8s.io': ['v1beta1'],
  'certificates.k8s.io': ['v1alpha1', 'v1beta1'],
  'coordination.k8s.io': ['v1beta1'],
  'discovery.k8s.io': ['v1beta1'],
  'events.k8s.io': ['v1beta1'],
  'flowcontrol.apiserver.k8s.io': ['v1beta1', 'v1beta2', 'v1beta3'],
  'networking.k8s.io': ['v1beta1'],
  'node.k8s.io': ['v1alpha1', 'v1beta1'],
  'rbac.authorization.k8s.io': ['v1alpha1', 'v1beta1'],
  'resource.k8s.io': ['v1beta1', 'v1beta2'],
  'scheduling.k8s.io': ['v1beta1'],
  'storage.k8s.io': ['v1alpha1', 'v1beta1'],
}
/** Kinds that came later than a version of their group. */
const without: Readonly<Record<string, readonly string[]>> = {
  'apps/v1beta1': ['DaemonSet', 'ReplicaSet'],
  'batch/v1beta1': ['Job'],
  'admissionregistration.k8s.io/v1alpha1': [
    'MutatingWebhookConfiguration',
    'ValidatingWebhookConfiguration',
  ],
  'authentication.k8s.io/v1alpha1': ['TokenRequest', 'TokenReview'],
  'authentication.k8s.io/v1beta1': ['TokenRequest'],
  'certificates.k8s.io/v1alpha1': ['CertificateSigningRequest'],
  'networking.k8s.io/v1beta1': ['NetworkPolicy'],
  'storage.k8s.io/v1alpha1': ['CSIDriver', 'CSINode', 'StorageClass'],
}
const versionsOfScale = new Set(['apps/v1beta1', 'apps/v1beta2', 'extensions/v1beta1'])
const oncePartOfExtensions = new Set([
  'DaemonSet',
  'Deployment',
  'Ingress',
  'NetworkPolicy',
  'ReplicaSet',
])

export const isFormerVersion = (
  { group, version }: { group: string; version: string },
  served: { group: string; kind: string },
): boolean => {
  if (served.kind === 'Scale') return versionsOfScale.has(`${group}/${version}`)
  if (group === 'extensions') return version === 'v1beta1' && oncePartOfExtensions.has(served.kind)
  if (group !== served.group || !getOwn(byGroup, group)?.includes(version)) return false
  return !without[`${group}/${version}`]?.includes(served.kind)
}

const changedSince = new Set([
  'CustomResourceDefinition',
  'DeviceClass',
  'EndpointSlice',
  'Ingress',
  'MutatingWebhookConfiguration',
  'PriorityLevelConfiguration',
  'ResourceClaim',
  'ResourceClaimTemplate',
  'ResourceSlice',
  'ValidatingWebhookConfiguration',
])

/** Whether the fields of the kind's former versions have the names and mean what they do now. */
export const hasKeptItsFields = ({ kind }: { kind: string }): boolean => !changedSince.has(kind)

/** Versions in which labels that are not given are those of the template. */
export const labelsAreThoseOfTemplate = (
  { group, version }: { group: string; version: string },
  { kind }: { kind: string },
): boolean =>
  group === 'apps'
    ? version === 'v1beta1' && ['Deployment', 'StatefulSet'].includes(kind)
    : group === 'extensions' && ['DaemonSet', 'Deployment', 'ReplicaSet'].includes(kind)
