/** What a Pod is in an EndpointSlice (kubernetes, endpointslice/utils.go podToEndpoint). */
import type { NamespacedObject, PersistedObject } from '#api/object.js'
import { isPodReady, isPodTerminal, type Node, type Pod } from '#client/pod.js'

export type AddressType = 'IPv4' | 'IPv6'
/** A Service without an address says so by this label on what is written for it. */
export const headlessLabel = 'service.kubernetes.io/headless'

export interface TargetRef {
  kind: string
  namespace?: string
  name?: string
  uid?: string
}
export interface Endpoint {
  addresses: string[]
  conditions: { ready: boolean; serving: boolean; terminating: boolean }
  hostname?: string
  targetRef: TargetRef
  nodeName?: string
  zone?: string
  hints?: { forZones?: { name: string }[]; forNodes?: { name: string }[] }
}
export interface EndpointPort {
  name: string
  port?: number
  protocol: string
  appProtocol?: string
}
/** As the API server defaults it. */
interface ServicePort {
  name?: string
  port: number
  protocol: string
  appProtocol?: string
  targetPort: number | string
}
export interface Service extends NamespacedObject {
  spec: {
    selector?: Record<string, string>
    type?: string
    clusterIP?: string
    clusterIPs?: string[]
    ipFamilies?: string[]
    ports?: ServicePort[]
    publishNotReadyAddresses?: boolean
    trafficDistribution?: string
  }
}

export const podIps = (pod: Pod): string[] => {
  const list = (pod.status?.podIPs ?? []).map((entry) => entry.ip)
  return list.length > 0 ? list : pod.status?.podIP ? [pod.status.podIP] : []
}

export const addressTypeOf = (ip: string): AddressType => (ip.includes(':') ? 'IPv6' : 'IPv4')

/** Address families of the Service; one without a family (headless, old) takes IPv4. */
export const addressTypesOf = (service: Service): AddressType[] => {
  const families = service.spec.ipFamilies ?? []
  if (families.length > 0) return families as AddressType[]
  const ip = service.spec.clusterIP
  return [ip && ip !== 'None' ? addressTypeOf(ip) : 'IPv4']
}

/** A terminating Pod stays until its object goes, it is terminal, or has no address. */
export const belongsInSlice = (pod: Pod): boolean => !isPodTerminal(pod) && podIps(pod).length > 0

export const hostnameFor = (pod: Pod, service: Service): string | undefined =>
  pod.spec.hostname && pod.spec.subdomain === service.metadata.name ? pod.spec.hostname : undefined

/** Whether hints are made for all endpoints together; the older annotation counts where both are set. */
export const usesTopology = ({ metadata: { annotations } }: Service): boolean =>
  ['Auto', 'auto'].includes(
    annotations?.['service.kubernetes.io/topology-aware-hints'] ??
      annotations?.['service.kubernetes.io/topology-mode'] ??
      '',
  )

/** Where the traffic of a ready endpoint should come from, as the Service distributes it. */
const hintsFor = (
  service: Service,
  { conditions, zone, nodeName }: Endpoint,
): Endpoint['hints'] => {
  const { trafficDistribution = '' } = service.spec
  if (usesTopology(service)) return undefined
  const isClose = ['PreferClose', 'PreferSameZone', 'PreferSameNode'].includes(trafficDistribution)
  if (!isClose || !conditions.ready) return undefined
  const nodes = trafficDistribution === 'PreferSameNode' && nodeName ? [{ name: nodeName }] : []
  if (!zone && nodes.length === 0) return undefined
  return {
    ...(zone ? { forZones: [{ name: zone }] } : {}),
    ...(nodes.length > 0 ? { forNodes: nodes } : {}),
  }
}

export const targetRefOf = ({ metadata: { namespace, name, uid } }: Pod): TargetRef => ({
  kind: 'Pod',
  namespace,
  name,
  uid,
})

export const endpointOf = (
  pod: Pod,
  service: Service,
  addresses: string[],
  node: Node | PersistedObject | undefined,
): Endpoint => {
  const serving = isPodReady(pod)
  const terminating = pod.metadata.deletionTimestamp !== undefined
  const hostname = hostnameFor(pod, service)
  const zone = node?.metadata.labels?.['topology.kubernetes.io/zone']
  const endpoint: Endpoint = {
    addresses,
    conditions: {
      ready: Boolean(service.spec.publishNotReadyAddresses) || (serving && !terminating),
      serving,
      terminating,
    },
    ...(hostname ? { hostname } : {}),
    targetRef: targetRefOf(pod),
    ...(pod.spec.nodeName ? { nodeName: pod.spec.nodeName } : {}),
    ...(zone ? { zone } : {}),
  }
  const hints = hintsFor(service, endpoint)
  return hints === undefined ? endpoint : { ...endpoint, hints }
}

/** A port of the Pod: the number itself, or the container port of that name and protocol. */
const findPort = (pod: Pod, { targetPort, protocol }: ServicePort): number | undefined => {
  if (typeof targetPort === 'number') return targetPort
  const sidecars = (pod.spec.initContainers ?? []).filter((c) => c.restartPolicy === 'Always')
  for (const container of [...pod.spec.containers, ...sidecars])
    for (const candidate of container.ports ?? [])
      if (candidate.name === targetPort && candidate.protocol === protocol)
        return candidate.containerPort
  return undefined
}

export const endpointPorts = (service: Service, pod: Pod): EndpointPort[] => {
  const found: EndpointPort[] = []
  for (const port of service.spec.ports ?? []) {
    const number = findPort(pod, port)
    if (number === undefined) continue
    found.push({
      name: port.name ?? '',
      port: number,
      protocol: port.protocol,
      ...(port.appProtocol ? { appProtocol: port.appProtocol } : {}),
    })
  }
  return found
}
