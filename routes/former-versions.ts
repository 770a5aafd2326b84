/** Versions that upstream no longer serves, or not by default, but whose types it knows: it decodes bodies in them. */

const byGroup: Readonly<Record<string, readonly string[]>> = {
  apps: ['v1beta1', 'v1beta2'],
  batch: ['v1beta1'],
  policy: ['v1beta1'],
  'admissionregistration.k8s.io': ['v1alpha1', 'v1beta1'],
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
  'scheduling.k8s.io': ['v1alpha1', 'v1beta1'],
  'storage.k8s.io': ['v1alpha1', 'v1beta1'],
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
  return group === served.group && (byGroup[group]?.includes(version) ?? false)
}
