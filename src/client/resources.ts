/** Where the resources that our processes use live: what a path and an apiVersion are made of. */
import { formatGroupVersion, groupVersionPath } from '#api/group-version.js'

export interface ResourceRef {
  readonly group: string
  readonly version: string
  readonly resource: string
  readonly kind: string
  readonly namespaced: boolean
}

const namespaced = (
  group: string,
  version: string,
  resource: string,
  kind: string,
): ResourceRef => ({
  group,
  version,
  resource,
  kind,
  namespaced: true,
})
const cluster = (group: string, version: string, resource: string, kind: string): ResourceRef => ({
  group,
  version,
  resource,
  kind,
  namespaced: false,
})

export const resources = {
  pods: namespaced('', 'v1', 'pods', 'Pod'),
  services: namespaced('', 'v1', 'services', 'Service'),
  endpoints: namespaced('', 'v1', 'endpoints', 'Endpoints'),
  configMaps: namespaced('', 'v1', 'configmaps', 'ConfigMap'),
  secrets: namespaced('', 'v1', 'secrets', 'Secret'),
  serviceAccounts: namespaced('', 'v1', 'serviceaccounts', 'ServiceAccount'),
  resourceQuotas: namespaced('', 'v1', 'resourcequotas', 'ResourceQuota'),
  replicationControllers: namespaced('', 'v1', 'replicationcontrollers', 'ReplicationController'),
  persistentVolumeClaims: namespaced('', 'v1', 'persistentvolumeclaims', 'PersistentVolumeClaim'),
  namespaces: cluster('', 'v1', 'namespaces', 'Namespace'),
  nodes: cluster('', 'v1', 'nodes', 'Node'),
  persistentVolumes: cluster('', 'v1', 'persistentvolumes', 'PersistentVolume'),
  events: namespaced('events.k8s.io', 'v1', 'events', 'Event'),
  endpointSlices: namespaced('discovery.k8s.io', 'v1', 'endpointslices', 'EndpointSlice'),
  leases: namespaced('coordination.k8s.io', 'v1', 'leases', 'Lease'),
  replicaSets: namespaced('apps', 'v1', 'replicasets', 'ReplicaSet'),
  deployments: namespaced('apps', 'v1', 'deployments', 'Deployment'),
  statefulSets: namespaced('apps', 'v1', 'statefulsets', 'StatefulSet'),
  daemonSets: namespaced('apps', 'v1', 'daemonsets', 'DaemonSet'),
  controllerRevisions: namespaced('apps', 'v1', 'controllerrevisions', 'ControllerRevision'),
  jobs: namespaced('batch', 'v1', 'jobs', 'Job'),
  cronJobs: namespaced('batch', 'v1', 'cronjobs', 'CronJob'),
  podDisruptionBudgets: namespaced('policy', 'v1', 'poddisruptionbudgets', 'PodDisruptionBudget'),
  horizontalPodAutoscalers: namespaced(
    'autoscaling',
    'v2',
    'horizontalpodautoscalers',
    'HorizontalPodAutoscaler',
  ),
  resourceClaims: namespaced('resource.k8s.io', 'v1', 'resourceclaims', 'ResourceClaim'),
  resourceClaimTemplates: namespaced(
    'resource.k8s.io',
    'v1',
    'resourceclaimtemplates',
    'ResourceClaimTemplate',
  ),
  deviceClasses: cluster('resource.k8s.io', 'v1', 'deviceclasses', 'DeviceClass'),
  resourceSlices: cluster('resource.k8s.io', 'v1', 'resourceslices', 'ResourceSlice'),
  csiDrivers: cluster('storage.k8s.io', 'v1', 'csidrivers', 'CSIDriver'),
  csiStorageCapacities: namespaced(
    'storage.k8s.io',
    'v1',
    'csistoragecapacities',
    'CSIStorageCapacity',
  ),
  volumeAttachments: cluster('storage.k8s.io', 'v1', 'volumeattachments', 'VolumeAttachment'),
  csiNodes: cluster('storage.k8s.io', 'v1', 'csinodes', 'CSINode'),
  storageClasses: cluster('storage.k8s.io', 'v1', 'storageclasses', 'StorageClass'),
  priorityClasses: cluster('scheduling.k8s.io', 'v1', 'priorityclasses', 'PriorityClass'),
  runtimeClasses: cluster('node.k8s.io', 'v1', 'runtimeclasses', 'RuntimeClass'),
  serviceCidrs: cluster('networking.k8s.io', 'v1', 'servicecidrs', 'ServiceCIDR'),
  ipAddresses: cluster('networking.k8s.io', 'v1', 'ipaddresses', 'IPAddress'),
  volumeAttributesClasses: cluster(
    'storage.k8s.io',
    'v1',
    'volumeattributesclasses',
    'VolumeAttributesClass',
  ),
  certificateSigningRequests: cluster(
    'certificates.k8s.io',
    'v1',
    'certificatesigningrequests',
    'CertificateSigningRequest',
  ),
  tokenReviews: cluster('authentication.k8s.io', 'v1', 'tokenreviews', 'TokenReview'),
  subjectAccessReviews: cluster(
    'authorization.k8s.io',
    'v1',
    'subjectaccessreviews',
    'SubjectAccessReview',
  ),
  apiServices: cluster('apiregistration.k8s.io', 'v1', 'apiservices', 'APIService'),
  clusterRoles: cluster('rbac.authorization.k8s.io', 'v1', 'clusterroles', 'ClusterRole'),
  clusterRoleBindings: cluster(
    'rbac.authorization.k8s.io',
    'v1',
    'clusterrolebindings',
    'ClusterRoleBinding',
  ),
  roles: namespaced('rbac.authorization.k8s.io', 'v1', 'roles', 'Role'),
  roleBindings: namespaced('rbac.authorization.k8s.io', 'v1', 'rolebindings', 'RoleBinding'),
  validatingAdmissionPolicies: cluster(
    'admissionregistration.k8s.io',
    'v1',
    'validatingadmissionpolicies',
    'ValidatingAdmissionPolicy',
  ),
} as const

export const apiVersionOf = (ref: ResourceRef): string => formatGroupVersion(ref)

/** `/apis/apps/v1/namespaces/x/deployments/y/scale`; without a namespace the path spans all of them. */
export const resourcePath = (
  ref: ResourceRef,
  at: { namespace?: string; name?: string; subresource?: string },
): string => {
  const scope =
    ref.namespaced && at.namespace ? `/namespaces/${encodeURIComponent(at.namespace)}` : ''
  const name = at.name === undefined ? '' : `/${encodeURIComponent(at.name)}`
  return `${groupVersionPath(ref)}${scope}/${ref.resource}${name}${at.subresource ? `/${at.subresource}` : ''}`
}
