/**
 * What an object counts as in quotas (kubernetes, pkg/quota/v1/evaluator/core). Admission adds it when the object is
 * made, and the quota controller counts it again: for both it is the same.
 */
import { namedStorageClass } from '#api/storage-class.js'
import { formatGroupResource, type GroupResource } from '../group-version.js'
import type { KubeObject } from '../object.js'
import { compareQuantityTexts, parseQuantity, quantityValue } from '../quantity.js'
import { measuresPods, podUsage, type Usage } from './pod-usage.js'
import { measureClaims, type RelatedObjects } from './resource-claim-usage.js'

/** Resources that count by their plain name besides `count/…`. */
const countedByName = new Set(['configmaps', 'secrets', 'replicationcontrollers', 'resourcequotas'])
const ofStorageClass = '.storageclass.storage.k8s.io/'
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

const isLess = (a: string, b: string): boolean => compareQuantityTexts(a, b) < 0

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
  const name = namedStorageClass(claim)
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

/** Which of a quota's resources are about a kind, and what an object of it uses of them. */
interface QuotaMeasure {
  measures(name: string): boolean
  usage(object: KubeObject, now: number): Usage
}

const serviceResources = ['services', 'services.nodeports', 'services.loadbalancers']
const claimResources = ['persistentvolumeclaims', 'requests.storage']

/** Upstream has never counted Events (kubernetes, pkg/quota/v1/install/registry.go). */
const uncounted: QuotaMeasure = { measures: () => false, usage: () => ({}) }

const measured: Readonly<Record<string, QuotaMeasure>> = {
  events: uncounted,
  'events.events.k8s.io': uncounted,
  pods: { measures: measuresPods, usage: podUsage },
  services: {
    measures: (name) => name === 'count/services' || serviceResources.includes(name),
    usage: serviceUsage,
  },
  persistentvolumeclaims: {
    measures: (name) =>
      name === 'count/persistentvolumeclaims' ||
      claimResources.some((r) => name === r || name.endsWith(`${ofStorageClass}${r}`)),
    usage: claimUsage,
  },
}

/** Everything else is counted as it is made. */
const objectCount = (resource: GroupResource): QuotaMeasure => {
  const names = [`count/${formatGroupResource(resource)}`]
  if (resource.group === '' && countedByName.has(resource.resource)) names.push(resource.resource)
  return {
    measures: (name) => names.includes(name),
    usage: () => Object.fromEntries(names.map((name) => [name, '1'])),
  }
}

/** What a claim for devices counts as is not in the claim alone. */
export const dependsOnOthers = (resource: GroupResource): boolean =>
  formatGroupResource(resource) === 'resourceclaims.resource.k8s.io'

export const measureOf = (resource: GroupResource, related: RelatedObjects): QuotaMeasure =>
  dependsOnOthers(resource)
    ? measureClaims(related)
    : (measured[formatGroupResource(resource)] ?? objectCount(resource))
