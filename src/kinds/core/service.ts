import { child, type FieldError, forbidden, index, notSupported } from '#api/field-error.js'
import { dnsLabelName } from '#api/names.js'
import type { KubeObject } from '#api/object.js'
import { defineKind } from '#registry/resource-definition.js'
import { validDnsSubdomain } from '#validation/formats.js'
import {
  cidrWarnings,
  ipWarnings,
  loadBalancerWarnings,
  notAnIp,
  validIp,
} from '#validation/network.js'
import { NodePorts } from './node-ports.js'
import { serviceAllocation } from './service-allocation.js'
import { defaultService, dropOfExternalName, dropTypeDependent } from './service-defaults.js'
import type { ServiceSpec } from './service-spec.js'
import { validateService, validateServiceUpdate } from './service-validation.js'

interface Ingress {
  ip?: string
  hostname?: string
  ipMode?: string
}

const ingressErrors = ({ ip = '', hostname = '', ipMode }: Ingress, path: string): FieldError[] => {
  const errors: FieldError[] = ip === '' ? [] : validIp(child(path, 'ip'), ip)
  const modePath = child(path, 'ipMode')
  if (ip !== '' && ipMode === undefined)
    errors.push({
      type: 'FieldValueRequired',
      field: modePath,
      body: 'Required value: must be specified when `ip` is set',
    })
  if (ip === '' && ipMode !== undefined)
    errors.push(forbidden(modePath, 'may not be specified when `ip` is not set'))
  else if (ipMode !== undefined && ipMode !== 'VIP' && ipMode !== 'Proxy')
    errors.push(notSupported(modePath, ipMode, ['Proxy', 'VIP']))
  if (hostname !== '') {
    const hostPath = child(path, 'hostname')
    errors.push(...validDnsSubdomain(hostPath, hostname), ...notAnIp(hostPath, hostname))
  }
  return errors
}

const statusErrors = (next: KubeObject, previous: KubeObject): FieldError[] => {
  const path = 'status.loadBalancer.ingress'
  const ingress: Ingress[] = next.status?.loadBalancer?.ingress ?? []
  const had: Ingress[] = previous.status?.loadBalancer?.ingress ?? []
  if (next.spec.type !== 'LoadBalancer' && ingress.length > 0) {
    // What a former load balancer left behind may stay.
    return JSON.stringify(ingress) === JSON.stringify(had)
      ? []
      : [forbidden(path, "may only be used when `spec.type` is 'LoadBalancer'")]
  }
  return ingress.flatMap((entry, i) => ingressErrors(entry, index(path, i)))
}

const hintsAnnotation = 'service.kubernetes.io/topology-aware-hints'

const headlessWarnings = (spec: ServiceSpec): string[] => [
  ...(spec.loadBalancerIP ? ['spec.loadBalancerIP is ignored for headless services'] : []),
  ...(spec.externalIPs?.length ? ['spec.externalIPs is ignored for headless services'] : []),
  ...(spec.sessionAffinity === 'None'
    ? []
    : ['spec.SessionAffinity is ignored for headless services']),
]

const ignoredWarnings = (spec: ServiceSpec): string[] => {
  if (spec.type !== 'ExternalName')
    return spec.externalName
      ? ['spec.externalName is ignored when spec.type is not "ExternalName"']
      : []
  return spec.externalIPs?.length
    ? ['spec.externalIPs is ignored when spec.type is "ExternalName"']
    : []
}

const warnings = ({ metadata, spec }: KubeObject): string[] => {
  const { loadBalancerIP = '', externalIPs = [], trafficDistribution }: ServiceSpec = spec
  const each = (field: keyof ServiceSpec, warn: typeof ipWarnings): string[] =>
    ((spec[field] ?? []) as string[]).flatMap((text, i) => warn(index(`spec.${field}`, i), text))
  const isPlainlyHeadless = spec.type === 'ClusterIP' && spec.clusterIP === 'None'
  return [
    ...(metadata.annotations?.[hintsAnnotation] === undefined
      ? []
      : [
          `annotation ${hintsAnnotation} is deprecated, please use service.kubernetes.io/topology-mode instead`,
        ]),
    ...(spec.clusterIP && spec.clusterIP !== 'None' ? each('clusterIPs', ipWarnings) : []),
    ...(isPlainlyHeadless ? headlessWarnings(spec) : []),
    ...each('externalIPs', ipWarnings),
    ...(externalIPs.length > 0 && !isPlainlyHeadless && spec.type !== 'ExternalName'
      ? ['spec.externalIPs is deprecated and may no longer be implemented in some clusters']
      : []),
    ...ipWarnings('spec.loadBalancerIP', loadBalancerIP),
    ...each('loadBalancerSourceRanges', cidrWarnings),
    ...ignoredWarnings(spec),
    ...(trafficDistribution === 'PreferClose'
      ? ['spec.trafficDistribution: "PreferClose" is deprecated; use "PreferSameZone"']
      : []),
  ]
}

export default defineKind({
  group: '',
  version: 'v1',
  kind: 'Service',
  strategy: {
    metadataRevalidation: 'change',
    generation: 'none',
    allowCreateOnUpdate: true,
    validateName: dnsLabelName,
    default: defaultService,
    prepareForCreate: (service) => {
      service.status = { loadBalancer: {} }
    },
    validate: validateService,
    warningsOnCreate: warnings,
    prepareForUpdate: (next, previous) => {
      const { status, spec } = previous
      next.status = structuredClone(status)
      dropTypeDependent(next.spec, spec)
      if (spec.type === 'LoadBalancer' && next.spec.type !== 'LoadBalancer')
        next.status.loadBalancer = {}
    },
    validateUpdate: validateServiceUpdate,
    warningsOnUpdate: warnings,
    canonicalize: ({ spec }) => dropOfExternalName(spec),
    ...serviceAllocation({
      nodePorts: new NodePorts({ first: 30_000, last: 32_767 }),
      // A server has those of its ranges (configured-kinds.ts).
      families: [],
    }),
    status: {
      validateUpdate: statusErrors,
      warningsOnUpdate: ({ status }) => loadBalancerWarnings(status),
    },
  },
  sample: {
    metadata: { name: 'sample' },
    spec: { selector: { app: 'sample' }, ports: [{ port: 80 }] },
  },
})
