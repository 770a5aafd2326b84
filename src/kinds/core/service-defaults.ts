/** Defaults of a Service, and what an update inherits from before (pkg/apis/core/v1/defaults.go, service strategy). */
import type { KubeObject } from '#api/object.js'
import {
  givesNodePorts,
  isExternallyAccessible,
  needsClusterIp,
  needsHealthCheck,
  needsInternalTrafficPolicy,
  needsNodePort,
  type ServiceSpec,
  sameClusterIps,
  sameList,
} from './service-spec.js'

const clientIpTimeoutSeconds = 10_800

export const defaultService = (object: KubeObject): void => {
  object.spec ??= {}
  const spec: ServiceSpec = object.spec
  spec.sessionAffinity ||= 'None'
  if (spec.sessionAffinity === 'None') delete spec.sessionAffinityConfig
  if (spec.sessionAffinity === 'ClientIP') {
    spec.sessionAffinityConfig ??= {}
    spec.sessionAffinityConfig.clientIP ??= {}
    spec.sessionAffinityConfig.clientIP.timeoutSeconds ??= clientIpTimeoutSeconds
  }
  spec.type ||= 'ClusterIP'
  for (const port of spec.ports ?? []) {
    port.protocol ||= 'TCP'
    if (!port.targetPort) port.targetPort = port.port
  }
  if (isExternallyAccessible(spec)) spec.externalTrafficPolicy ||= 'Cluster'
  if (needsInternalTrafficPolicy(spec)) spec.internalTrafficPolicy ??= 'Cluster'
  if (spec.type !== 'LoadBalancer') return
  spec.allocateLoadBalancerNodePorts ??= true
  for (const ingress of object.status?.loadBalancer?.ingress ?? [])
    if (ingress.ip) ingress.ipMode ??= 'VIP'
}

/** A client that knows only one of clusterIP and clusterIPs gets the other one brought in line. */
export const normalizeClusterIps = (next: ServiceSpec, previous?: ServiceSpec): void => {
  if (previous === undefined) {
    if (next.clusterIP && (next.clusterIPs ?? []).length === 0) next.clusterIPs = [next.clusterIP]
    return
  }
  const before = previous.clusterIP ?? ''
  const after = next.clusterIP ?? ''
  const isUnset = (next.clusterIPs ?? []).length === 0
  if (before === after) {
    // A client that does not know the list left it out.
    if (isUnset && (previous.clusterIPs ?? []).length > 0) next.clusterIPs = previous.clusterIPs!
    return
  }
  if (!sameList(previous.clusterIPs, next.clusterIPs)) return
  if (after === '') delete next.clusterIPs
  else next.clusterIPs = [after]
}

const nodePortsOf = (spec: ServiceSpec): Set<number> =>
  new Set((spec.ports ?? []).map((p) => p.nodePort ?? 0).filter((p) => p !== 0))

/** Ports keep the node port that their name had, unless another one took it. */
const inheritNodePorts = (next: ServiceSpec, previous: ServiceSpec): void => {
  const taken = nodePortsOf(next)
  const used = new Set([...nodePortsOf(previous)].filter((p) => taken.has(p)))
  const byName = new Map((previous.ports ?? []).map((p) => [p.name ?? '', p.nodePort ?? 0]))
  for (const port of next.ports ?? []) {
    if (port.nodePort) continue
    const before = byName.get(port.name ?? '') ?? 0
    if (before === 0 || used.has(before)) continue
    port.nodePort = before
    used.add(before)
  }
}

/** A PUT that leaves out what the server gave keeps it. */
export const inheritAllocated = (next: ServiceSpec, previous: ServiceSpec): void => {
  if (needsClusterIp(previous) && needsClusterIp(next)) {
    if (!next.clusterIP && previous.clusterIP) next.clusterIP = previous.clusterIP
    const { clusterIPs } = previous
    if (clusterIPs && !next.clusterIPs?.length) next.clusterIPs = [...clusterIPs]
  }
  if (givesNodePorts(previous) && givesNodePorts(next)) inheritNodePorts(next, previous)
  if (needsHealthCheck(previous) && needsHealthCheck(next) && !next.healthCheckNodePort)
    if (previous.healthCheckNodePort) next.healthCheckNodePort = previous.healthCheckNodePort
}

const dropClusterIps = (next: ServiceSpec, previous: ServiceSpec): void => {
  if (!needsClusterIp(previous) || needsClusterIp(next)) return
  if (sameClusterIps(next, previous)) {
    delete next.clusterIP
    delete next.clusterIPs
  }
  if (sameList(next.ipFamilies, previous.ipFamilies)) delete next.ipFamilies
  if (next.ipFamilyPolicy === previous.ipFamilyPolicy) delete next.ipFamilyPolicy
}

/** Ports may come and go, as long as none of them asks for a node port that was not there. */
const hasNewNodePorts = (next: ServiceSpec, previous: ServiceSpec): boolean => {
  const had = nodePortsOf(previous)
  return [...nodePortsOf(next)].some((port) => !had.has(port))
}

/** A change of type takes along what only the old type had, unless the client set it anew. */
export const dropTypeDependent = (next: ServiceSpec, previous: ServiceSpec): void => {
  dropClusterIps(next, previous)
  if (needsNodePort(previous) && !needsNodePort(next) && !hasNewNodePorts(next, previous))
    for (const port of next.ports ?? []) delete port.nodePort
  const dropUnchanged = (
    needed: (spec: ServiceSpec) => boolean,
    field: keyof ServiceSpec,
  ): void => {
    if (needed(previous) && !needed(next) && next[field] === previous[field]) delete next[field]
  }
  const isLoadBalancer = (spec: ServiceSpec): boolean => spec.type === 'LoadBalancer'
  dropUnchanged(needsHealthCheck, 'healthCheckNodePort')
  dropUnchanged(isLoadBalancer, 'allocateLoadBalancerNodePorts')
  dropUnchanged(isLoadBalancer, 'loadBalancerClass')
  dropUnchanged(isExternallyAccessible, 'externalTrafficPolicy')
}

/** A Service that is only a name elsewhere has no internal traffic: the policy that was given only had to be valid. */
export const dropOfExternalName = (spec: ServiceSpec): void => {
  if (spec.type === 'ExternalName') delete spec.internalTrafficPolicy
}
