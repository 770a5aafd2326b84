/** What an object counts as in quotas (kubernetes, pkg/quota/v1/evaluator/core). */
import { formatGroupResource, type GroupResource } from '#api/group-version.js'
import type { KubeObject } from '#api/object.js'
import { compareQuantities, parseQuantity, quantityValue } from '#api/quantity.js'
import type { AdmissionAttributes, WriteAttributes } from '#registry/admission.js'
import { podQos } from '#validation/pod/pod-qos.js'
import { isNativeResource } from '#validation/resource-name.js'
import { podResizes, podUsage } from './limit-ranger.js'
import { isAbout } from './plugin.js'

export type Usage = Record<string, string>

/** Resources that count by their plain name beside `count/…`. */
const countedByName = new Set(['configmaps', 'secrets', 'replicationcontrollers', 'resourcequotas'])
const standard = new Set(['cpu', 'memory', 'ephemeral-storage'])
const podResources = new Set([
  'count/pods',
  'pods',
  ...[...standard].flatMap((name) => [name, `requests.${name}`, `limits.${name}`]),
])
const ofStorageClass = '.storageclass.storage.k8s.io/'
const devicesOfClass = '.deviceclass.resource.k8s.io/devices'
/** AllocationResultsMaxSize of resource.k8s.io: what `All` counts as. */
const devicesOfAll = 32

interface DeviceSubrequest {
  deviceClassName?: string
  allocationMode?: string
  count?: number
}
/** As v1 nests it; v1beta1 has what is exactly asked for beside the name. */
interface DeviceRequest extends DeviceSubrequest {
  exactly?: DeviceSubrequest
  firstAvailable?: DeviceSubrequest[]
}

/** A pod that has ended takes no room any more. */
const isOver = ({ status }: KubeObject): boolean =>
  status?.phase === 'Failed' || status?.phase === 'Succeeded'

/** It will end by itself: what the scope of this name is about. */
const isTerminating = ({ spec }: KubeObject): boolean => spec.activeDeadlineSeconds !== undefined

const podUsageOf = (pod: KubeObject): Usage => {
  const requests = podUsage(pod, 'requests')
  const limits = podUsage(pod, 'limits')
  const usage: Usage = { 'count/pods': '1' }
  if (isOver(pod)) return usage
  usage.pods = '1'
  for (const [name, quantity] of Object.entries(requests)) {
    usage[`requests.${name}`] = quantity
    if (standard.has(name) || name.startsWith('hugepages-')) usage[name] = quantity
  }
  for (const [name, quantity] of Object.entries(limits))
    if (standard.has(name)) usage[`limits.${name}`] = quantity
  return usage
}

const serviceUsage = ({ spec }: KubeObject): Usage => {
  const usage: Usage = { services: '1', 'count/services': '1' }
  const ports: { nodePort?: number }[] = spec?.ports ?? []
  const balanced = spec?.type === 'LoadBalancer'
  if (spec?.type === 'NodePort') usage['services.nodeports'] = String(ports.length)
  if (balanced) {
    const given = spec.allocateLoadBalancerNodePorts !== false
    const held = given ? ports.length : ports.filter((p) => (p.nodePort ?? 0) > 0).length
    usage['services.nodeports'] = String(held)
    usage['services.loadbalancers'] = '1'
  } else {
    usage['services.nodeports'] ??= '0'
    usage['services.loadbalancers'] = '0'
  }
  return usage
}

const isLess = (a: string, b: string): boolean =>
  compareQuantities(parseQuantity(a), parseQuantity(b)) < 0

/** A quota's status holds no parts of bytes. */
const wholeBytes = (text: string): string => {
  const quantity = parseQuantity(text)
  const bytes = quantityValue(quantity)
  return bytes * 1_000_000_000n === quantity.nano ? text : String(bytes)
}

const claimUsage = (claim: KubeObject): Usage => {
  const asked: string = claim.spec?.resources?.requests?.storage ?? '0'
  const allocated: string = claim.status?.allocatedResources?.storage ?? '0'
  const storage = wholeBytes(isLess(asked, allocated) ? allocated : asked)
  const name =
    claim.metadata.annotations?.['volume.beta.kubernetes.io/storage-class'] ??
    claim.spec?.storageClassName
  const counted: Usage = {
    persistentvolumeclaims: '1',
    'count/persistentvolumeclaims': '1',
    'requests.storage': storage,
  }
  return name
    ? {
        ...counted,
        [`${name}${ofStorageClass}requests.storage`]: storage,
        [`${name}${ofStorageClass}persistentvolumeclaims`]: '1',
      }
    : counted
}

/** The most that could be allocated: where a request may choose, its dearest alternative of each class. */
const devicesOf = (request: DeviceRequest): Usage => {
  const most: Usage = {}
  const alternatives = request.firstAvailable ?? [request.exactly ?? request]
  for (const { deviceClassName, allocationMode, count } of alternatives) {
    const name = `${deviceClassName}${devicesOfClass}`
    const devices = allocationMode === 'All' ? devicesOfAll : (count ?? 0)
    most[name] = String(Math.max(Number(most[name] ?? 0), devices))
  }
  return most
}

const resourceClaimUsage = ({ spec }: KubeObject): Usage => {
  const usage: Usage = { 'count/resourceclaims.resource.k8s.io': '1' }
  for (const request of (spec.devices?.requests ?? []) as DeviceRequest[])
    for (const [name, devices] of Object.entries(devicesOf(request)))
      usage[name] = String(Number(usage[name] ?? 0) + Number(devices))
  return usage
}

/** Which writes of a kind a quota charges, which of a quota's resources are about the kind, and what an object uses of them. */
export interface QuotaEvaluator {
  charges(attributes: WriteAttributes): boolean
  measures(name: string): boolean
  usage(object: KubeObject): Usage
}

const isMain = ({ subresource }: WriteAttributes): boolean => subresource === ''

const pods: QuotaEvaluator = {
  charges: (attributes) => {
    if (isAbout(attributes, podResizes)) return true
    if (!isMain(attributes)) return false
    // An update counts only where it takes the Pod from one scope into another.
    const { object, oldObject } = attributes
    return oldObject === undefined || isTerminating(object) !== isTerminating(oldObject)
  },
  measures: (name) =>
    podResources.has(name) ||
    /^(?:requests\.)?hugepages-/.test(name) ||
    (name.startsWith('requests.') &&
      (!isNativeResource(name) || name.startsWith('requests.deviceclass.resource.kubernetes.io/'))),
  usage: podUsageOf,
}

const serviceResources = ['services', 'services.nodeports', 'services.loadbalancers']
const services: QuotaEvaluator = {
  charges: isMain,
  measures: (name) => name === 'count/services' || serviceResources.includes(name),
  usage: serviceUsage,
}

const claimResources = ['persistentvolumeclaims', 'requests.storage']
const persistentVolumeClaims: QuotaEvaluator = {
  // Its status says how much is allocated while it grows.
  charges: (attributes) => isMain(attributes) || attributes.subresource === 'status',
  measures: (name) =>
    name === 'count/persistentvolumeclaims' ||
    claimResources.some((r) => name === r || name.endsWith(`${ofStorageClass}${r}`)),
  usage: claimUsage,
}

const resourceClaims: QuotaEvaluator = {
  charges: isMain,
  measures: (name) =>
    name === 'count/resourceclaims.resource.k8s.io' || name.endsWith(devicesOfClass),
  usage: resourceClaimUsage,
}

/** Everything else is counted as it is made. */
const objectCount = (resource: GroupResource): QuotaEvaluator => {
  const names = [`count/${formatGroupResource(resource)}`]
  if (resource.group === '' && countedByName.has(resource.resource)) names.push(resource.resource)
  return {
    charges: ({ operation, subresource }) => operation === 'CREATE' && subresource === '',
    measures: (name) => names.includes(name),
    usage: () => Object.fromEntries(names.map((name) => [name, '1'])),
  }
}

const evaluators: Record<string, QuotaEvaluator> = {
  pods,
  services,
  persistentvolumeclaims: persistentVolumeClaims,
  'resourceclaims.resource.k8s.io': resourceClaims,
}

export const evaluatorOf = (resource: GroupResource): QuotaEvaluator =>
  evaluators[formatGroupResource(resource)] ?? objectCount(resource)

const isBestEffort = ({ spec }: KubeObject): boolean => podQos(spec) === 'BestEffort'

interface ScopeRequirement {
  scopeName: string
  operator: string
  values?: string[]
}

const matchesPriority = ({ spec }: KubeObject, { operator, values = [] }: ScopeRequirement) => {
  const name: string = spec.priorityClassName ?? ''
  if (operator === 'Exists') return name !== ''
  if (operator === 'DoesNotExist') return name === ''
  return operator === 'In' ? values.includes(name) : !values.includes(name)
}

const usesOtherNamespaces = ({ spec }: KubeObject): boolean =>
  ['podAffinity', 'podAntiAffinity'].some((kind) => {
    const affinity = spec.affinity?.[kind] ?? {}
    const terms = [
      ...(affinity.requiredDuringSchedulingIgnoredDuringExecution ?? []),
      ...(affinity.preferredDuringSchedulingIgnoredDuringExecution ?? []).map(
        (w: { podAffinityTerm: object }) => w.podAffinityTerm,
      ),
    ]
    return terms.some((t) => (t.namespaces ?? []).length > 0 || t.namespaceSelector !== undefined)
  })

const matchesScope = (object: KubeObject, requirement: ScopeRequirement): boolean => {
  switch (requirement.scopeName) {
    case 'BestEffort':
      return isBestEffort(object)
    case 'NotBestEffort':
      return !isBestEffort(object)
    case 'Terminating':
      return isTerminating(object)
    case 'NotTerminating':
      return !isTerminating(object)
    case 'PriorityClass':
      return matchesPriority(object, requirement)
    case 'CrossNamespacePodAffinity':
      return usesOtherNamespaces(object)
    case 'VolumeAttributesClass': {
      const name: string = object.spec.volumeAttributesClassName ?? ''
      return matchesPriority({ ...object, spec: { priorityClassName: name } }, requirement)
    }
    default:
      return false
  }
}

/** Whether a quota is about this object: all of its scopes must hold. */
export const isInScope = (
  { resource }: AdmissionAttributes,
  object: KubeObject,
  quota: KubeObject,
): boolean => {
  const scopes: ScopeRequirement[] = [
    ...(quota.spec?.scopes ?? []).map((scopeName: string) => ({ scopeName, operator: 'Exists' })),
    ...(quota.spec?.scopeSelector?.matchExpressions ?? []),
  ]
  if (scopes.length === 0) return true
  const isPod = resource.group === '' && resource.resource === 'pods'
  const isClaim = resource.group === '' && resource.resource === 'persistentvolumeclaims'
  return scopes.every((scope) =>
    isPod || (isClaim && scope.scopeName === 'VolumeAttributesClass')
      ? matchesScope(object, scope)
      : false,
  )
}

const compute = /^(?:(requests|limits)\.)?(.+)$/

/** Containers that leave open what the quota bounds, by resource; pods must say what they take. */
export const unspecified = (pod: KubeObject, hard: readonly string[]): Record<string, string[]> => {
  const missing: Record<string, string[]> = {}
  const { requests, limits } = pod.spec.resources ?? {}
  const wholePod = Object.keys({ ...requests, ...limits })
  if (wholePod.some((name) => name === 'cpu' || name === 'memory' || name.startsWith('hugepages-')))
    return missing
  for (const resource of hard) {
    const [, kind, name = ''] = compute.exec(resource) ?? []
    // Of what is computed with, ephemeral storage may be left open.
    const isAsked =
      (name === 'cpu' || name === 'memory') && (kind !== undefined || resource === name)
    if (!isAsked) continue
    const field = kind === 'limits' ? 'limits' : 'requests'
    const containers = [...(pod.spec.containers ?? []), ...(pod.spec.initContainers ?? [])]
      .filter((c) => c.resources?.[field]?.[name] === undefined)
      .map((c) => c.name as string)
    if (containers.length > 0) missing[resource] = containers.sort()
  }
  return missing
}
