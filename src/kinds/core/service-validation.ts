/** What a Service may be. Order and texts: kubernetes pkg/apis/core/validation ValidateService. */

import {
  child,
  duplicate,
  type FieldError,
  forbidden,
  index,
  invalid,
  invalidEach,
  notSupported,
  required,
} from '#api/field-error.js'
import { isDns1123Label, isDns1123Subdomain, isQualifiedName } from '#api/names.js'
import type { KubeObject } from '#api/object.js'
import { trimSpace } from '#go/trim-space.js'
import { validLabels } from '#validation/label-selector.js'
import {
  ipMessages,
  isPort,
  nonSpecialIp,
  portMessage,
  validCidr,
  validIp,
  validPort,
  validPortOrName,
  validProtocol,
} from '#validation/network.js'
import { validClusterIpChange, validClusterIps } from './service-cluster-ips.js'
import {
  isExternallyAccessible,
  isHeadless,
  needsHealthCheck,
  needsInternalTrafficPolicy,
  type ServicePort,
  type ServiceSpec,
} from './service-spec.js'

const onlyForLoadBalancer = "may only be used when `type` is 'LoadBalancer'"
const affinityTimeoutSecondsMax = 86_400
const types = ['ClusterIP', 'ExternalName', 'LoadBalancer', 'NodePort']
const trafficPolicies = ['Cluster', 'Local']
const trafficDistributions = ['PreferClose', 'PreferSameZone', 'PreferSameNode']
const sourceRangesAnnotation = 'service.beta.kubernetes.io/load-balancer-source-ranges'

const topologyErrors = ({ metadata }: KubeObject): FieldError[] => {
  const mode = metadata.annotations?.['service.kubernetes.io/topology-mode']
  const hints = metadata.annotations?.['service.kubernetes.io/topology-aware-hints']
  if (mode === undefined || hints === undefined || mode === hints) return []
  return [
    invalid(
      'metadata.annotations[service.kubernetes.io/topology-mode]',
      mode,
      'must match annotations[service.kubernetes.io/topology-aware-hints] when both are specified',
    ),
  ]
}

const externalNameErrors = (spec: ServiceSpec): FieldError[] => {
  const refused = 'may not be set for ExternalName services'
  const name = (spec.externalName ?? '').replace(/\.$/, '')
  return [
    ...((spec.clusterIPs ?? []).length > 0 ? [forbidden('spec.clusterIPs', refused)] : []),
    ...((spec.ipFamilies ?? []).length > 0 ? [forbidden('spec.ipFamilies', refused)] : []),
    ...(spec.ipFamilyPolicy === undefined ? [] : [forbidden('spec.ipFamilyPolicy', refused)]),
    ...(name === ''
      ? [required('spec.externalName')]
      : invalidEach('spec.externalName', name, isDns1123Subdomain(name))),
  ]
}

const typeErrors = (spec: ServiceSpec): FieldError[] => {
  if (spec.type === 'ExternalName') return externalNameErrors(spec)
  if ((spec.type === 'LoadBalancer' || spec.type === 'NodePort') && isHeadless(spec))
    return [
      invalid('spec.clusterIPs[0]', 'None', `may not be set to 'None' for ${spec.type} services`),
    ]
  return []
}

const portErrors = (port: ServicePort, path: string, names: Set<string>, nameRequired: boolean) => {
  const errors: FieldError[] = []
  const name = port.name ?? ''
  if (name === '' && nameRequired) errors.push(required(child(path, 'name')))
  else if (name !== '') {
    errors.push(...invalidEach(child(path, 'name'), name, isDns1123Label(name)))
    if (names.has(name)) errors.push(duplicate(child(path, 'name'), name))
    names.add(name)
  }
  errors.push(...validPort(child(path, 'port'), port.port ?? 0))
  errors.push(
    ...(port.protocol
      ? validProtocol(child(path, 'protocol'), port.protocol)
      : [required(child(path, 'protocol'))]),
    ...validPortOrName(child(path, 'targetPort'), port.targetPort ?? 0),
  )
  if (port.appProtocol !== undefined)
    errors.push(
      ...invalidEach(
        child(path, 'appProtocol'),
        port.appProtocol,
        isQualifiedName(port.appProtocol),
      ),
    )
  return errors
}

const affinityErrors = (spec: ServiceSpec): FieldError[] => {
  const { sessionAffinity = '', sessionAffinityConfig } = spec
  if (sessionAffinity === '') return [required('spec.sessionAffinity')]
  if (sessionAffinity !== 'ClientIP' && sessionAffinity !== 'None')
    return [notSupported('spec.sessionAffinity', sessionAffinity, ['ClientIP', 'None'])]
  if (sessionAffinity === 'None')
    return sessionAffinityConfig === undefined
      ? []
      : [forbidden('spec.sessionAffinityConfig', 'must not be set when session affinity is None')]
  const seconds = sessionAffinityConfig?.clientIP?.timeoutSeconds
  const path = 'spec.sessionAffinityConfig.clientIP.timeoutSeconds'
  if (seconds === undefined) return [required(path)]
  return seconds > 0 && seconds <= affinityTimeoutSecondsMax
    ? []
    : [invalid(path, seconds, `must be greater than 0 and less than ${affinityTimeoutSecondsMax}`)]
}

const externalIpErrors = (ips: string[] = []): FieldError[] =>
  ips.flatMap((ip, i) => {
    const path = index('spec.externalIPs', i)
    return ipMessages(ip).length > 0 ? validIp(path, ip) : nonSpecialIp(path, ip)
  })

/** The comparison key as upstream prints it: a ServicePort of the internal API with two fields set. */
const portKey = (protocol: string, port: number) => ({
  Name: '',
  Protocol: protocol,
  AppProtocol: null,
  Port: port,
  TargetPort: 0,
  NodePort: 0,
})

const duplicatePortErrors = (ports: ServicePort[]): FieldError[] => {
  const seenNodePorts = new Set<string>()
  const seenPorts = new Set<string>()
  const nodePorts = ports.flatMap(({ nodePort = 0, protocol }, i) => {
    const key = `${protocol}/${nodePort}`
    if (nodePort === 0 || !seenNodePorts.has(key)) {
      seenNodePorts.add(key)
      return []
    }
    return [duplicate(child(index('spec.ports', i), 'nodePort'), nodePort)]
  })
  const plain = ports.flatMap(({ port, protocol }, i) => {
    const key = `${protocol}/${port}`
    if (!seenPorts.has(key)) {
      seenPorts.add(key)
      return []
    }
    return [duplicate(index('spec.ports', i), portKey(protocol, port))]
  })
  return [...nodePorts, ...plain]
}

const sourceRangeErrors = ({ metadata, spec }: KubeObject): FieldError[] => {
  const notAllowed = (path: string): FieldError[] =>
    spec.type === 'LoadBalancer' ? [] : [forbidden(path, onlyForLoadBalancer)]
  const ranges: string[] = spec.loadBalancerSourceRanges ?? []
  if (ranges.length > 0) {
    // The capital letter is upstream's.
    const path = 'spec.LoadBalancerSourceRanges'
    return [
      ...notAllowed(path),
      ...ranges.flatMap((range, i) => validCidr(index(path, i), trimSpace(range))),
    ]
  }
  const annotation = metadata.annotations?.[sourceRangesAnnotation]
  if (annotation === undefined) return []
  const path = `metadata.annotations[${sourceRangesAnnotation}]`
  const listed = trimSpace(annotation) === '' ? [] : annotation.split(',')
  return [...notAllowed(path), ...listed.flatMap((range) => validCidr(path, trimSpace(range)))]
}

const loadBalancerErrors = (spec: ServiceSpec): FieldError[] => {
  const isLoadBalancer = spec.type === 'LoadBalancer'
  const { allocateLoadBalancerNodePorts: allocate, loadBalancerClass } = spec
  const errors: FieldError[] = []
  if (allocate !== undefined && !isLoadBalancer)
    errors.push(forbidden('spec.allocateLoadBalancerNodePorts', onlyForLoadBalancer))
  if (allocate === undefined && isLoadBalancer)
    errors.push(required('spec.allocateLoadBalancerNodePorts'))
  return [...errors, ...loadBalancerClassErrors(isLoadBalancer, loadBalancerClass)]
}

const loadBalancerClassErrors = (
  isLoadBalancer: boolean,
  name: string | undefined,
): FieldError[] => {
  const path = 'spec.loadBalancerClass'
  if (name === undefined) return []
  return isLoadBalancer
    ? invalidEach(path, name, isQualifiedName(name))
    : [forbidden(path, onlyForLoadBalancer)]
}

const trafficErrors = (spec: ServiceSpec): FieldError[] => {
  const errors: FieldError[] = []
  const { externalTrafficPolicy = '', internalTrafficPolicy, healthCheckNodePort = 0 } = spec
  const externalPath = 'spec.externalTrafficPolicy'
  if (!isExternallyAccessible(spec)) {
    if (externalTrafficPolicy !== '')
      errors.push(
        invalid(
          externalPath,
          externalTrafficPolicy,
          'may only be set for externally-accessible services',
        ),
      )
  } else if (externalTrafficPolicy === '') errors.push(required(externalPath))
  else if (!trafficPolicies.includes(externalTrafficPolicy))
    errors.push(notSupported(externalPath, externalTrafficPolicy, trafficPolicies))
  const checkPath = 'spec.healthCheckNodePort'
  if (needsHealthCheck(spec)) {
    if (healthCheckNodePort === 0) errors.push(required(checkPath))
    else if (!isPort(healthCheckNodePort))
      errors.push(invalid(checkPath, healthCheckNodePort, portMessage))
  } else if (healthCheckNodePort !== 0)
    errors.push(
      invalid(
        checkPath,
        healthCheckNodePort,
        "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'",
      ),
    )
  const internalPath = 'spec.internalTrafficPolicy'
  if (internalTrafficPolicy === undefined) {
    if (needsInternalTrafficPolicy(spec)) errors.push(required(internalPath))
  } else if (!trafficPolicies.includes(internalTrafficPolicy))
    errors.push(notSupported(internalPath, internalTrafficPolicy, trafficPolicies))
  const { trafficDistribution } = spec
  if (trafficDistribution !== undefined && !trafficDistributions.includes(trafficDistribution))
    errors.push(notSupported('spec.trafficDistribution', trafficDistribution, trafficDistributions))
  return errors
}

export const validateService = (service: KubeObject): FieldError[] => {
  const spec: ServiceSpec = service.spec
  const ports = spec.ports ?? []
  const names = new Set<string>()
  const needsPorts = !isHeadless(spec) && spec.type !== 'ExternalName'
  return [
    ...topologyErrors(service),
    ...(ports.length === 0 && needsPorts ? [required('spec.ports')] : []),
    ...typeErrors(spec),
    ...ports.flatMap((port, i) =>
      portErrors(port, index('spec.ports', i), names, ports.length > 1),
    ),
    ...validLabels('spec.selector', spec.selector),
    ...affinityErrors(spec),
    ...validClusterIps(spec),
    ...externalIpErrors(spec.externalIPs),
    ...(types.includes(spec.type ?? '') ? [] : [notSupported('spec.type', spec.type, types)]),
    ...ports.flatMap((port, i) =>
      spec.type === 'ClusterIP' && port.nodePort
        ? [
            forbidden(
              child(index('spec.ports', i), 'nodePort'),
              "may not be used when `type` is 'ClusterIP'",
            ),
          ]
        : [],
    ),
    ...duplicatePortErrors(ports),
    ...sourceRangeErrors(service),
    ...loadBalancerErrors(spec),
    ...trafficErrors(spec),
  ]
}

const healthCheckPortChange = (next: ServiceSpec, previous: ServiceSpec): FieldError[] => {
  const needBoth = needsHealthCheck(next) && needsHealthCheck(previous)
  const [port, before] = [next.healthCheckNodePort ?? 0, previous.healthCheckNodePort ?? 0]
  return needBoth && port !== before
    ? [forbidden('spec.healthCheckNodePort', 'field is immutable')]
    : []
}

export const validateServiceUpdate = (next: KubeObject, previous: KubeObject): FieldError[] => {
  const [spec, before]: ServiceSpec[] = [next.spec, previous.spec]
  const bothBalance = spec!.type === 'LoadBalancer' && before!.type === 'LoadBalancer'
  const path = 'spec.loadBalancerClass'
  return [
    ...validClusterIpChange(spec!, before!),
    ...(bothBalance && spec!.loadBalancerClass !== before!.loadBalancerClass
      ? [invalid(path, spec!.loadBalancerClass, 'may not change once set')]
      : []),
    ...loadBalancerClassErrors(spec!.type === 'LoadBalancer', spec!.loadBalancerClass),
    ...healthCheckPortChange(spec!, before!),
    ...validateService(next),
  ]
}
