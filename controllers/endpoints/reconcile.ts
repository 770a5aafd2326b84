/** A Service and its Pods → the subsets of its Endpoints object (kubernetes, controller/endpoint). */

import type { NamespacedObject, PersistedObject } from '#api/object.js'
import { isPodReady, isPodTerminal, type Pod } from '#client/pod.js'
import { compareTexts } from '#go/compare-texts.js'
import { limits } from '#limits'
import {
  addressTypeOf,
  addressTypesOf,
  type EndpointPort,
  endpointPorts,
  headlessLabel,
  hostnameFor,
  podIps,
  type Service,
  type TargetRef,
  targetRefOf,
} from '../endpointslice/endpoint.js'
import { byHash, inSubsetOrder, pointer, printedPort } from '../endpointslice/port-order.js'

interface EndpointAddress {
  ip: string
  hostname?: string
  nodeName?: string
  targetRef: TargetRef
}
interface SubsetPort {
  name?: string
  port: number
  protocol: string
  appProtocol?: string
}
export interface EndpointSubset {
  addresses?: EndpointAddress[]
  notReadyAddresses?: EndpointAddress[]
  ports?: SubsetPort[]
}
export interface Endpoints extends NamespacedObject {
  subsets?: EndpointSubset[]
}

/** Endpoints that hold a leader's lock, as old releases had it: they list no addresses, and have no Service. */
export const isLock = ({ metadata }: PersistedObject): boolean =>
  metadata.annotations?.['control-plane.alpha.kubernetes.io/leader'] !== undefined

const managedByLabel = 'endpoints.kubernetes.io/managed-by'
const managedBy = 'endpoint-controller'
const overCapacity = 'endpoints.kubernetes.io/over-capacity'

const addressOf = (pod: Pod, service: Service, ip: string): EndpointAddress => {
  const hostname = hostnameFor(pod, service)
  return {
    ip,
    ...(hostname ? { hostname } : {}),
    ...(pod.spec.nodeName ? { nodeName: pod.spec.nodeName } : {}),
    targetRef: targetRefOf(pod),
  }
}

const subsetPort = ({ name, port, protocol, appProtocol }: EndpointPort): SubsetPort => ({
  ...(name === '' ? {} : { name }),
  port: port!,
  protocol,
  ...(appProtocol ? { appProtocol } : {}),
})

/** Terminating Pods are out at once, unless the Service publishes those that are not ready. */
const isEligible = (pod: Pod, service: Service): boolean =>
  !isPodTerminal(pod) &&
  (pod.metadata.deletionTimestamp === undefined || Boolean(service.spec.publishNotReadyAddresses))

interface Subset {
  readonly ready: EndpointAddress[]
  readonly not: EndpointAddress[]
  readonly ports: EndpointPort[]
}

const printedAddress = ({
  ip,
  hostname = '',
  nodeName = '',
  targetRef,
}: EndpointAddress): string => {
  const { kind, namespace, name, uid } = targetRef
  const target = `Kind:(string)${kind} Namespace:(string)${namespace} Name:(string)${name} UID:(types.UID)${uid} APIVersion:(string) ResourceVersion:(string) FieldPath:(string)`
  return `{IP:(string)${ip} Hostname:(string)${hostname} NodeName:${pointer('string', nodeName)} TargetRef:(*v1.ObjectReference){${target}}}`
}
const printedList = (type: string, items: readonly string[]): string =>
  `([]v1.${type})${items.length === 0 ? '<nil>' : `[${items.join(' ')}]`}`
const printedSubset = ({ ready, not, ports }: Subset): string => {
  const [addresses, others] = [ready, not].map((list) =>
    printedList('EndpointAddress', list.map(printedAddress)),
  )
  const shown = printedList('EndpointPort', ports.map(printedPort))
  return `(v1.EndpointSubset){Addresses:${addresses} NotReadyAddresses:${others} Ports:${shown}}`
}

/** Ready addresses come first; if there are too many, each subset keeps its share. As upstream's truncateEndpoints. */
const withinCapacity = (subsets: readonly Subset[]): readonly Subset[] => {
  const countOf = (which: 'ready' | 'not'): number =>
    subsets.reduce((count, subset) => count + subset[which].length, 0)
  const ready = countOf('ready')
  if (ready + countOf('not') <= limits.endpointAddressesMax) return subsets
  const which = ready > limits.endpointAddressesMax ? 'ready' : 'not'
  const room = limits.endpointAddressesMax - (which === 'ready' ? 0 : ready)
  const total = countOf(which)
  let left = room
  return subsets.map((subset) => {
    const share = Math.ceil((subset[which].length / total) * room)
    const kept = subset[which].slice(0, Math.min(left, share))
    left -= kept.length
    return which === 'ready' ? { ...subset, ready: kept, not: [] } : { ...subset, not: kept }
  })
}

/** The Pods that each port is to be found at. A port that is missing is that of a headless Service without any. */
const podsByPort = (
  service: Service,
  pods: readonly Pod[],
): { port: EndpointPort | undefined; pods: Pod[] }[] => {
  const isBare = service.spec.clusterIP === 'None' && (service.spec.ports ?? []).length === 0
  const found = new Map<string, { port: EndpointPort | undefined; pods: Pod[] }>()
  for (const pod of pods)
    for (const port of isBare ? [undefined] : endpointPorts(service, pod)) {
      const key = JSON.stringify(port ?? null)
      const known = found.get(key) ?? { port, pods: [] }
      found.set(key, known)
      known.pods.push(pod)
    }
  return [...found.values()]
}

/** Ports that the same Pods have share a subset (RepackSubsets). */
const subsetsOf = (service: Service, pods: readonly Pod[]): Subset[] => {
  const family = addressTypesOf(service)[0]!
  const ipOf = (pod: Pod) => podIps(pod).find((address) => addressTypeOf(address) === family)
  const isReady = (pod: Pod) => Boolean(service.spec.publishNotReadyAddresses) || isPodReady(pod)
  const eligible = [...pods]
    .sort((a, b) => compareTexts(a.metadata.uid, b.metadata.uid))
    .filter((pod) => ipOf(pod) !== undefined && isEligible(pod, service))
  const subsets = new Map<string, Subset>()
  for (const { port, pods: found } of podsByPort(service, eligible)) {
    const key = found.map(({ metadata }) => metadata.uid).join(' ')
    const addresses = (which: readonly Pod[]): EndpointAddress[] =>
      which
        .map((pod) => addressOf(pod, service, ipOf(pod)!))
        .sort((a, b) => compareTexts(a.ip, b.ip))
    const subset = subsets.get(key) ?? {
      ready: addresses(found.filter(isReady)),
      not: addresses(found.filter((pod) => !isReady(pod))),
      ports: [],
    }
    subsets.set(key, subset)
    if (port !== undefined) subset.ports.push(port)
  }
  return [...subsets.values()].map((subset) => ({ ...subset, ports: inSubsetOrder(subset.ports) }))
}

export const reconcileSubsets = (
  service: Service,
  pods: readonly Pod[],
): { subsets: EndpointSubset[]; truncated: boolean } => {
  const all = byHash(subsetsOf(service, pods), printedSubset)
  const kept = withinCapacity(all)
  return {
    truncated: kept !== all,
    subsets: kept.map(({ ready, not, ports }) => ({
      ...(ready.length > 0 ? { addresses: ready } : {}),
      ...(not.length > 0 ? { notReadyAddresses: not } : {}),
      ...(ports.length > 0 ? { ports: ports.map(subsetPort) } : {}),
    })),
  }
}

/** Labels of the Service, with our own that say who writes this. */
export const endpointsLabels = (service: Service): Record<string, string> => {
  const { [headlessLabel]: _theirs, ...own } = service.metadata.labels ?? {}
  return {
    ...own,
    [managedByLabel]: managedBy,
    ...(service.spec.clusterIP === 'None' ? { [headlessLabel]: '' } : {}),
  }
}

export const endpointsAnnotations = (
  current: Record<string, string> | undefined,
  truncated: boolean,
): Record<string, string> => {
  const { [overCapacity]: _old, ...rest } = current ?? {}
  return truncated ? { ...rest, [overCapacity]: 'truncated' } : rest
}
