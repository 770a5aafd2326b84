/** Rows of the kinds outside core and the workloads. Rules: kubernetes pkg/printers/internalversion. */

import { isDefaultIngressClass, isDefaultStorageClass } from '#api/default-class.js'
import { formatGroupResource } from '#api/group-version.js'
import { printLabelSelector } from '#api/label-selector.js'
import type { KubeObject } from '#api/object.js'
import { humanDuration } from '#registry/human-duration.js'
import { loadBalancerAddresses } from './core-cells.js'
import { age, type Cells, listWithMore, showLabelSelector } from './format.js'

export const nameAndAge: Cells = (object, now) => [object.metadata.name, age(object, now)]

/** Upstream counts every rule in `+ N more`, also those without a host. */
const ingressHosts = (rules: { host?: string }[]): string => {
  const hosts: string[] = []
  let more = false
  for (const rule of rules) {
    if (hosts.length === 3) more = true
    if (!more && rule.host) hosts.push(rule.host)
  }
  if (hosts.length === 0) return '*'
  return more ? `${hosts.join(',')} + ${rules.length - 3} more...` : hosts.join(',')
}
const ingressCells: Cells = (object, now) => [
  object.metadata.name,
  object.spec?.ingressClassName ?? '<none>',
  ingressHosts(object.spec?.rules ?? []),
  loadBalancerAddresses(object.status).join(','),
  (object.spec?.tls ?? []).length > 0 ? '80, 443' : '80',
  age(object, now),
]
const nameOf = (object: KubeObject, isDefault: boolean): string =>
  `${object.metadata.name ?? ''}${isDefault ? ' (default)' : ''}`

const ingressClassCells: Cells = (object, now) => {
  const ref = object.spec?.parameters
  const parameters = ref
    ? `${ref.kind}${ref.apiGroup ? `.${ref.apiGroup}` : ''}/${ref.name}`
    : '<none>'
  return [
    nameOf(object, isDefaultIngressClass(object)),
    object.spec?.controller ?? '',
    parameters,
    age(object, now),
  ]
}
const networkPolicyCells: Cells = (object, now) => [
  object.metadata.name,
  showLabelSelector(object.spec?.podSelector),
  age(object, now),
]
/** Upstream adds the age to the two columns that it declares, so a row has one cell more than the header. */
const ipAddressCells: Cells = (object, now) => {
  const ref = object.spec?.parentRef
  if (!ref) return [object.metadata.name, '<none>', age(object, now)]
  const { group = '', resource: plural = '' } = ref
  const resource = formatGroupResource({ group, resource: plural }).toLowerCase()
  const parts = ref.namespace ? [resource, ref.namespace, ref.name] : [resource, ref.name]
  return [object.metadata.name, parts.join('/'), age(object, now)]
}
const serviceCidrCells: Cells = (object, now) => [
  object.metadata.name,
  (object.spec?.cidrs ?? []).join(','),
  age(object, now),
]

interface SlicePort {
  port?: number
  name?: string
}
const endpointSliceCells: Cells = (object, now) => [
  object.metadata.name,
  object.addressType ?? '',
  listWithMore(
    (object.ports ?? []).map((p: SlicePort) =>
      p.port === undefined ? (p.name ?? '*') : String(p.port),
    ),
  ) || '<unset>',
  listWithMore(
    (object.endpoints ?? []).flatMap((e: { addresses?: string[] }) => e.addresses ?? []),
  ) || '<unset>',
  age(object, now),
]

const podDisruptionBudgetCells: Cells = (object, now) => [
  object.metadata.name,
  object.spec?.minAvailable === undefined ? 'N/A' : String(object.spec.minAvailable),
  object.spec?.maxUnavailable === undefined ? 'N/A' : String(object.spec.maxUnavailable),
  object.status?.disruptionsAllowed ?? 0,
  age(object, now),
]

const bindingCells: Cells = (object, now) => {
  const ref = object.roleRef ?? {}
  const subjects: { kind: string; name: string; namespace?: string }[] = object.subjects ?? []
  const named = (kind: string): string =>
    subjects
      .filter((s) => s.kind === kind)
      .map((s) => (kind === 'ServiceAccount' ? `${s.namespace ?? ''}/${s.name}` : s.name))
      .join(', ')
  return [
    object.metadata.name,
    `${ref.kind}/${ref.name}`,
    age(object, now),
    named('User'),
    named('Group'),
    named('ServiceAccount'),
  ]
}

const storageClassCells: Cells = (object, now) => [
  nameOf(object, isDefaultStorageClass(object)),
  object.provisioner ?? '',
  object.reclaimPolicy ?? 'Delete',
  object.volumeBindingMode ?? 'Immediate',
  object.allowVolumeExpansion ?? false,
  age(object, now),
]
const volumeAttributesClassCells: Cells = (object, now) => [
  object.metadata.name,
  object.driverName ?? '',
  age(object, now),
]
const csiDriverCells: Cells = (object, now) => {
  const { spec = {} } = object
  return [
    object.metadata.name,
    spec.attachRequired ?? true,
    spec.podInfoOnMount ?? false,
    spec.storageCapacity ?? false,
    spec.tokenRequests?.map((t: { audience?: string }) => t.audience ?? '').join(',') ?? '<unset>',
    spec.requiresRepublish ?? false,
    (spec.volumeLifecycleModes ?? []).join(',') || '<none>',
    age(object, now),
  ]
}
const csiNodeCells: Cells = (object, now) => [
  object.metadata.name,
  (object.spec?.drivers ?? []).length,
  age(object, now),
]
const volumeAttachmentCells: Cells = (object, now) => [
  object.metadata.name,
  object.spec?.attacher ?? '',
  object.spec?.source?.persistentVolumeName ?? '',
  object.spec?.nodeName ?? '',
  object.status?.attached ?? false,
  age(object, now),
]

const signingStatus = ({ status }: KubeObject): string => {
  const has = (type: string): boolean =>
    (status?.conditions ?? []).some((c: { type: string }) => c.type === type)
  const decision = has('Denied') ? 'Denied' : has('Approved') ? 'Approved' : 'Pending'
  return `${decision}${has('Failed') ? ',Failed' : ''}${status?.certificate ? ',Issued' : ''}`
}
const certificateSigningRequestCells: Cells = (object, now) => {
  const seconds = object.spec?.expirationSeconds
  return [
    object.metadata.name,
    age(object, now),
    object.spec?.signerName || '<none>',
    object.spec?.username ?? '',
    seconds === undefined ? '<none>' : humanDuration(seconds * 1000),
    signingStatus(object),
  ]
}

const leaseCells: Cells = (object, now) => [
  object.metadata.name,
  object.spec?.holderIdentity ?? '',
  age(object, now),
]
const runtimeClassCells: Cells = (object, now) => [
  object.metadata.name,
  object.handler ?? '',
  age(object, now),
]
const priorityClassCells: Cells = (object, now) => [
  object.metadata.name,
  object.value ?? 0,
  object.globalDefault ?? false,
  age(object, now),
  object.preemptionPolicy ?? '',
]

const flowSchemaCells: Cells = (object, now) => {
  const dangling = (object.status?.conditions ?? []).find(
    (c: { type: string }) => c.type === 'Dangling',
  )
  return [
    object.metadata.name,
    object.spec?.priorityLevelConfiguration?.name ?? '<none>',
    object.spec?.matchingPrecedence ?? 0,
    object.spec?.distinguisherMethod?.type ?? '<none>',
    age(object, now),
    dangling?.status ?? '?',
  ]
}
const priorityLevelCells: Cells = (object, now) => {
  const limited = object.spec?.limited
  const queuing = limited?.limitResponse?.queuing
  return [
    object.metadata.name,
    object.spec?.type ?? '',
    limited?.nominalConcurrencyShares ?? '<none>',
    queuing?.queues ?? '<none>',
    queuing?.handSize ?? '<none>',
    queuing?.queueLengthLimit ?? '<none>',
    age(object, now),
  ]
}

const webhookCells: Cells = (object, now) => [
  object.metadata.name,
  (object.webhooks ?? []).length,
  age(object, now),
]
const policyCells =
  (field: 'validations' | 'mutations'): Cells =>
  (object, now) => {
    const kind = object.spec?.paramKind
    return [
      object.metadata.name,
      (object.spec?.[field] ?? []).length,
      kind ? `${kind.apiVersion}/${kind.kind}` : '<unset>',
      age(object, now),
    ]
  }
/** Which namespace parameters are in cannot be told from the binding alone. */
const policyBindingCells: Cells = (object, now) => {
  const ref = object.spec?.paramRef
  const name = (): string => {
    if (ref.name) return `${ref.namespace || '*'}/${ref.name}`
    return ref.selector ? printLabelSelector(ref.selector) : '<unset>'
  }
  return [
    object.metadata.name,
    object.spec?.policyName ?? '',
    ref ? name() : '<unset>',
    age(object, now),
  ]
}

const apiServiceCells: Cells = (object, now) => {
  const { service } = object.spec ?? {}
  const available = (object.status?.conditions ?? []).find(
    (c: { type: string }) => c.type === 'Available',
  )
  const status = available?.status ?? 'Unknown'
  return [
    object.metadata.name,
    service ? `${service.namespace}/${service.name}` : 'Local',
    status === 'True' || available === undefined ? status : `${status} (${available.reason})`,
    age(object, now),
  ]
}

const resourceClaimCells: Cells = (object, now) => {
  const states = [
    ...(object.metadata.deletionTimestamp ? ['deleted'] : []),
    ...(object.status?.allocation
      ? ['allocated']
      : object.metadata.deletionTimestamp
        ? []
        : ['pending']),
    ...(object.status?.allocation && object.status.reservedFor?.length ? ['reserved'] : []),
  ]
  return [object.metadata.name, states.join(','), age(object, now)]
}
const resourceSliceCells: Cells = (object, now) => [
  object.metadata.name,
  object.spec?.nodeName ?? '',
  object.spec?.driver ?? '',
  object.spec?.pool?.name ?? '',
  age(object, now),
]

/** By kind and group as formatGroupKind prints them. */
export const groupCells: Readonly<Record<string, Cells>> = {
  'Ingress.networking.k8s.io': ingressCells,
  'IngressClass.networking.k8s.io': ingressClassCells,
  'NetworkPolicy.networking.k8s.io': networkPolicyCells,
  'IPAddress.networking.k8s.io': ipAddressCells,
  'ServiceCIDR.networking.k8s.io': serviceCidrCells,
  'EndpointSlice.discovery.k8s.io': endpointSliceCells,
  'PodDisruptionBudget.policy': podDisruptionBudgetCells,
  'RoleBinding.rbac.authorization.k8s.io': bindingCells,
  'ClusterRoleBinding.rbac.authorization.k8s.io': bindingCells,
  'StorageClass.storage.k8s.io': storageClassCells,
  'VolumeAttributesClass.storage.k8s.io': volumeAttributesClassCells,
  'CSIDriver.storage.k8s.io': csiDriverCells,
  'CSINode.storage.k8s.io': csiNodeCells,
  'VolumeAttachment.storage.k8s.io': volumeAttachmentCells,
  'CertificateSigningRequest.certificates.k8s.io': certificateSigningRequestCells,
  'Lease.coordination.k8s.io': leaseCells,
  'RuntimeClass.node.k8s.io': runtimeClassCells,
  'PriorityClass.scheduling.k8s.io': priorityClassCells,
  'FlowSchema.flowcontrol.apiserver.k8s.io': flowSchemaCells,
  'PriorityLevelConfiguration.flowcontrol.apiserver.k8s.io': priorityLevelCells,
  'ValidatingWebhookConfiguration.admissionregistration.k8s.io': webhookCells,
  'MutatingWebhookConfiguration.admissionregistration.k8s.io': webhookCells,
  'ValidatingAdmissionPolicy.admissionregistration.k8s.io': policyCells('validations'),
  'MutatingAdmissionPolicy.admissionregistration.k8s.io': policyCells('mutations'),
  'ValidatingAdmissionPolicyBinding.admissionregistration.k8s.io': policyBindingCells,
  'MutatingAdmissionPolicyBinding.admissionregistration.k8s.io': policyBindingCells,
  'APIService.apiregistration.k8s.io': apiServiceCells,
  'DeviceClass.resource.k8s.io': nameAndAge,
  'ResourceClaim.resource.k8s.io': resourceClaimCells,
  'ResourceClaimTemplate.resource.k8s.io': nameAndAge,
  'ResourceSlice.resource.k8s.io': resourceSliceCells,
}
