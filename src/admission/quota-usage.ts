/** What an object counts as in quotas (kubernetes, pkg/quota/v1/evaluator/core). */
import { formatGroupResource } from '#api/group-version.js'
import type { KubeObject } from '#api/object.js'
import { parseQuantity } from '#api/quantity.js'
import type { AdmissionAttributes } from '#registry/admission.js'
import { podUsage } from './limit-ranger.js'

export type Usage = Record<string, string>

/** Resources that count by their plain name beside `count/…`. */
const countedByName = new Set([
  'configmaps',
  'secrets',
  'services',
  'replicationcontrollers',
  'resourcequotas',
  'persistentvolumeclaims',
  'pods',
])
const standard = new Set(['cpu', 'memory', 'ephemeral-storage'])

/** A pod that has ended takes no room any more. */
const isOver = ({ status }: KubeObject): boolean =>
  status?.phase === 'Failed' || status?.phase === 'Succeeded'

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

const claimUsage = (claim: KubeObject): Usage => {
  const storage: string = claim.spec?.resources?.requests?.storage ?? '0'
  const suffix = '.storageclass.storage.k8s.io/'
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
        [`${name}${suffix}requests.storage`]: storage,
        [`${name}${suffix}persistentvolumeclaims`]: '1',
      }
    : counted
}

export const usageOf = ({ resource }: AdmissionAttributes, object: KubeObject): Usage => {
  const name = formatGroupResource(resource)
  if (resource.group === '') {
    if (resource.resource === 'pods') return podUsageOf(object)
    if (resource.resource === 'services') return serviceUsage(object)
    if (resource.resource === 'persistentvolumeclaims') return claimUsage(object)
    if (countedByName.has(resource.resource))
      return { [resource.resource]: '1', [`count/${name}`]: '1' }
  }
  return { [`count/${name}`]: '1' }
}

const isBestEffort = ({ spec }: KubeObject): boolean =>
  [...(spec.containers ?? []), ...(spec.initContainers ?? [])].every((container) =>
    (['requests', 'limits'] as const).every((field) =>
      ['cpu', 'memory'].every((name) => {
        const text = container.resources?.[field]?.[name]
        return text === undefined || parseQuantity(text).nano === 0n
      }),
    ),
  )

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
      return object.spec.activeDeadlineSeconds !== undefined
    case 'NotTerminating':
      return object.spec.activeDeadlineSeconds === undefined
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
