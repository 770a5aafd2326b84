/** What a Service needs by its type, in upstream's words (kubernetes, pkg/registry/core/service). */
import type { IpFamily } from '#validation/network.js'

export interface ServicePort {
  name?: string
  protocol: string
  appProtocol?: string
  port: number
  targetPort?: number | string
  nodePort?: number
}
export interface ServiceSpec {
  type?: string
  ports?: ServicePort[]
  selector?: Record<string, string>
  clusterIP?: string
  clusterIPs?: string[]
  ipFamilies?: IpFamily[]
  ipFamilyPolicy?: string
  externalIPs?: string[]
  externalName?: string
  externalTrafficPolicy?: string
  internalTrafficPolicy?: string
  healthCheckNodePort?: number
  allocateLoadBalancerNodePorts?: boolean
  loadBalancerClass?: string
  loadBalancerIP?: string
  loadBalancerSourceRanges?: string[]
  sessionAffinity?: string
  sessionAffinityConfig?: { clientIP?: { timeoutSeconds?: number } }
  trafficDistribution?: string
}

export const isHeadless = ({ clusterIPs }: ServiceSpec): boolean =>
  clusterIPs?.length === 1 && clusterIPs[0] === 'None'
/** A type that is none is refused, and its address reported no second time. */
export const needsClusterIp = ({ type }: ServiceSpec): boolean => type !== 'ExternalName'
export const needsInternalTrafficPolicy = ({ type }: ServiceSpec): boolean =>
  type === 'ClusterIP' || type === 'NodePort' || type === 'LoadBalancer'
export const needsNodePort = ({ type }: ServiceSpec): boolean =>
  type === 'NodePort' || type === 'LoadBalancer'
/** Requested ports are taken even if none are allocated. */
export const givesNodePorts = (spec: ServiceSpec): boolean =>
  spec.type === 'NodePort' ||
  (spec.type === 'LoadBalancer' && spec.allocateLoadBalancerNodePorts !== false)
export const needsHealthCheck = (spec: ServiceSpec): boolean =>
  spec.type === 'LoadBalancer' && spec.externalTrafficPolicy === 'Local'
export const isExternallyAccessible = (spec: ServiceSpec): boolean =>
  needsNodePort(spec) || (spec.type === 'ClusterIP' && (spec.externalIPs ?? []).length > 0)

export const sameList = (a: readonly unknown[] = [], b: readonly unknown[] = []): boolean =>
  a.length === b.length && a.every((x, i) => x === b[i])
export const sameClusterIps = (a: ServiceSpec, b: ServiceSpec): boolean =>
  (a.clusterIP ?? '') === (b.clusterIP ?? '') && sameList(a.clusterIPs, b.clusterIPs)
