/** A Service and its Pods → the subsets of its Endpoints object (kubernetes, controller/endpoint). */

import type { NamespacedObject, PersistedObject } from '#api/object.js'
import { isPodReady, isPodTerminal, type Pod } from '#client/pod.js'
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
  targetRefOf,
} from '../endpointslice/endpoint.js'
import { type AddressPort, type EndpointAddress, repackSubsets, type Subset } from './repack.js'

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

/** Every address with every port that the Pod has; headless Services do without. */
const addressPorts = (service: Service, pods: readonly Pod[]): AddressPort[] => {
  const { clusterIP, ports = [], publishNotReadyAddresses } = service.spec
  const isBare = clusterIP === 'None' && ports.length === 0
  const family = addressTypesOf(service)[0]!
  return pods.flatMap((pod) => {
    const ip = podIps(pod).find((address) => addressTypeOf(address) === family)
    if (ip === undefined || !isEligible(pod, service)) return []
    const address = addressOf(pod, service, ip)
    const isReady = Boolean(publishNotReadyAddresses) || isPodReady(pod)
    const found = isBare ? [undefined] : endpointPorts(service, pod)
    return found.map((port) => ({ address, isReady, port }))
  })
}

export const reconcileSubsets = (
  service: Service,
  pods: readonly Pod[],
): { subsets: EndpointSubset[]; truncated: boolean } => {
  const all = repackSubsets(addressPorts(service, pods))
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
