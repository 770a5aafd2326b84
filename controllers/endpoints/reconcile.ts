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
import { inSubsetOrder } from '../endpointslice/port-order.js'

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

export const reconcileSubsets = (
  service: Service,
  pods: readonly Pod[],
): { subsets: EndpointSubset[]; truncated: boolean } => {
  const family = addressTypesOf(service)[0]!
  const headlessWithoutPorts =
    service.spec.clusterIP === 'None' && (service.spec.ports ?? []).length === 0
  const subsets = new Map<string, Subset>()
  for (const pod of [...pods].sort((a, b) => (a.metadata.uid < b.metadata.uid ? -1 : 1))) {
    const ip = podIps(pod).find((address) => addressTypeOf(address) === family)
    if (ip === undefined || !isEligible(pod, service)) continue
    const ports = endpointPorts(service, pod)
    if (ports.length === 0 && !headlessWithoutPorts) continue
    const key = JSON.stringify(ports)
    const subset = subsets.get(key) ?? { ready: [], not: [], ports }
    subsets.set(key, subset)
    const ready = Boolean(service.spec.publishNotReadyAddresses) || isPodReady(pod)
    subset[ready ? 'ready' : 'not'].push(addressOf(pod, service, ip))
  }
  const all = [...subsets.values()]
  for (const { ready, not } of all)
    for (const addresses of [ready, not]) addresses.sort((a, b) => compareTexts(a.ip, b.ip))
  const kept = withinCapacity(all)
  return {
    truncated: kept !== all,
    subsets: kept.map(({ ready, not, ports }) => ({
      ...(ready.length > 0 ? { addresses: ready } : {}),
      ...(not.length > 0 ? { notReadyAddresses: not } : {}),
      ...(ports.length > 0 ? { ports: inSubsetOrder(ports).map(subsetPort) } : {}),
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
