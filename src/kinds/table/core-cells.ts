/** Rows of the core kinds that hold no pods. Rules: kubernetes pkg/printers/internalversion. */

import type { KubeObject } from '#api/object.js'
import { namedStorageClass } from '#api/storage-class.js'
import { trimSpace } from '#go/trim-space.js'
import { age, type Cells, formatLabels, listWithMore, shownMax, since } from './format.js'

interface LoadBalancerIngress {
  ip?: string
  hostname?: string
}
/** Addresses of a load balancer, each once, sorted. */
export const loadBalancerAddresses = (status: KubeObject['status']): string[] =>
  [
    ...new Set<string>(
      (status?.loadBalancer?.ingress ?? [])
        .map((i: LoadBalancerIngress) => i.ip || i.hostname || '')
        .filter((address: string) => address !== ''),
    ),
  ].sort()

const externalIp = ({ spec, status }: KubeObject): string => {
  const own: string[] = spec?.externalIPs ?? []
  const balanced = loadBalancerAddresses(status)
  switch (spec?.type) {
    case 'ClusterIP':
    case 'NodePort':
      return own.length > 0 ? own.join(',') : '<none>'
    case 'LoadBalancer': {
      const all = [...balanced, ...own]
      return all.length > 0 ? all.join(',') : '<pending>'
    }
    case 'ExternalName':
      return spec.externalName ?? ''
    default:
      return '<unknown>'
  }
}

const servicePort = (port: { port: number; nodePort?: number; protocol?: string }): string =>
  port.nodePort ? `${port.port}:${port.nodePort}/${port.protocol}` : `${port.port}/${port.protocol}`

export const serviceCells: Cells = (object, now) => {
  const ports = (object.spec?.ports ?? []).map(servicePort).join(',')
  return [
    object.metadata.name,
    object.spec?.type ?? '',
    object.spec?.clusterIPs?.[0] || '<none>',
    externalIp(object),
    ports || '<none>',
    age(object, now),
    formatLabels(object.spec?.selector),
  ]
}

const hostPort = (ip: string, port: number): string =>
  ip.includes(':') ? `[${ip}]:${port}` : `${ip}:${port}`

interface EndpointSubset {
  addresses?: { ip: string }[]
  ports?: { port: number }[]
}
/** No more than are shown: tens of thousands of addresses with as many ports would be billions. */
const firstEndpoints = ({ addresses = [], ports = [] }: EndpointSubset): string[] => {
  const first = addresses.slice(0, shownMax)
  return ports.length === 0
    ? first.map((a) => a.ip)
    : ports.slice(0, shownMax).flatMap((p) => first.map((a) => hostPort(a.ip, p.port)))
}

/** Subsets without a ready address are printed as nothing. */
export const endpointsCells: Cells = (object, now) => {
  const subsets: EndpointSubset[] = object.subsets ?? []
  const count = subsets.reduce(
    (sum, { addresses = [], ports = [] }) => sum + addresses.length * Math.max(ports.length, 1),
    0,
  )
  const shown =
    subsets.length === 0 ? '<none>' : listWithMore(subsets.flatMap(firstEndpoints), count)
  return [object.metadata.name, shown, age(object, now)]
}

const nodeRoles = (labels: Record<string, string> | undefined): string => {
  const prefix = 'node-role.kubernetes.io/'
  const roles = Object.entries(labels ?? {})
    .map(([key, value]) =>
      key.startsWith(prefix) ? key.slice(prefix.length) : key === 'kubernetes.io/role' ? value : '',
    )
    .filter((role) => role !== '')
  return roles.length === 0 ? '<none>' : [...new Set(roles)].sort().join(',')
}

const nodeAddress = (node: KubeObject, type: string): string =>
  (node.status?.addresses ?? []).find((a: { type: string }) => a.type === type)?.address ?? '<none>'

export const nodeCells: Cells = (node, now) => {
  const ready = (node.status?.conditions ?? []).findLast(
    (c: { type: string }) => c.type === 'Ready',
  )
  const status = ready === undefined ? 'Unknown' : ready.status === 'True' ? 'Ready' : 'NotReady'
  const info = node.status?.nodeInfo ?? {}
  const kernel = info.kernelVersion || '<unknown>'
  return [
    node.metadata.name,
    node.spec?.unschedulable ? `${status},SchedulingDisabled` : status,
    nodeRoles(node.metadata.labels),
    age(node, now),
    info.kubeletVersion ?? '',
    nodeAddress(node, 'InternalIP'),
    nodeAddress(node, 'ExternalIP'),
    info.osImage || '<unknown>',
    info.architecture ? `${kernel} (${info.architecture})` : kernel,
    info.containerRuntimeVersion || '<unknown>',
  ]
}

/** Reads the core form. */
export const eventCells: Cells = (event, now) => {
  const firstSeen = event.firstTimestamp
    ? since(event.firstTimestamp, now)
    : since(event.eventTime, now)
  const lastSeen = event.series
    ? since(event.series.lastObservedTime, now)
    : event.lastTimestamp
      ? since(event.lastTimestamp, now)
      : firstSeen
  const { kind = '', name = '', fieldPath = '' } = event.involvedObject ?? {}
  const component = event.source?.component || event.reportingComponent || ''
  const instance = event.source?.host || event.reportingInstance || ''
  return [
    lastSeen,
    event.type ?? '',
    event.reason ?? '',
    name === '' ? kind.toLowerCase() : `${kind.toLowerCase()}/${name}`,
    fieldPath,
    instance === '' ? component : `${component}, ${instance}`,
    trimSpace(event.message ?? ''),
    firstSeen,
    event.series ? (event.series.count ?? 0) : event.count || 1,
    // A bookmark has none.
    event.metadata.name ?? '',
  ]
}

export const namespaceCells: Cells = (object, now) => [
  object.metadata.name,
  object.status?.phase ?? '',
  age(object, now),
]
export const secretCells: Cells = (object, now) => [
  object.metadata.name,
  object.type ?? '',
  Object.keys(object.data ?? {}).length,
  age(object, now),
]
export const configMapCells: Cells = (object, now) => [
  object.metadata.name,
  Object.keys(object.data ?? {}).length + Object.keys(object.binaryData ?? {}).length,
  age(object, now),
]

const shortAccessModes: readonly (readonly [string, string])[] = [
  ['ReadWriteOnce', 'RWO'],
  ['ReadOnlyMany', 'ROX'],
  ['ReadWriteMany', 'RWX'],
  ['ReadWriteOncePod', 'RWOP'],
]
const accessModes = (modes: string[] | undefined): string =>
  shortAccessModes
    .filter(([mode]) => modes?.includes(mode))
    .map(([, short]) => short)
    .join(',')

export const persistentVolumeCells: Cells = (volume, now) => {
  const { spec = {}, status, metadata } = volume
  return [
    metadata.name,
    spec.capacity?.storage ?? '0',
    accessModes(spec.accessModes),
    spec.persistentVolumeReclaimPolicy ?? '',
    metadata.deletionTimestamp ? 'Terminating' : (status?.phase ?? ''),
    spec.claimRef ? `${spec.claimRef.namespace ?? ''}/${spec.claimRef.name ?? ''}` : '',
    namedStorageClass(volume) ?? '',
    spec.volumeAttributesClassName ?? '<unset>',
    status?.reason ?? '',
    age(volume, now),
    spec.volumeMode ?? '<unset>',
  ]
}

export const persistentVolumeClaimCells: Cells = (claim, now) => {
  const { spec = {}, status, metadata } = claim
  const isBound = (spec.volumeName ?? '') !== ''
  return [
    metadata.name,
    metadata.deletionTimestamp ? 'Terminating' : (status?.phase ?? ''),
    spec.volumeName ?? '',
    isBound ? (status?.capacity?.storage ?? '0') : '',
    isBound ? accessModes(status?.accessModes) : '',
    namedStorageClass(claim) ?? '',
    spec.volumeAttributesClassName ?? '<unset>',
    age(claim, now),
    spec.volumeMode ?? '<unset>',
  ]
}

export const resourceQuotaCells: Cells = (quota, now) => {
  const hard: Record<string, string> = quota.status?.hard ?? {}
  const entry = (resource: string): string =>
    `${resource}: ${quota.status?.used?.[resource] ?? '0'}/${hard[resource]}`
  const names = Object.keys(hard).sort()
  const isLimit = (resource: string): boolean => resource.startsWith('limits.')
  return [
    quota.metadata.name,
    names
      .filter((name) => !isLimit(name))
      .map(entry)
      .join(', '),
    names.filter(isLimit).map(entry).join(', '),
    age(quota, now),
  ]
}

export const componentStatusCells: Cells = (object) => {
  const healthy = (object.conditions ?? []).find((c: { type: string }) => c.type === 'Healthy')
  const status =
    healthy === undefined ? 'Unknown' : healthy.status === 'True' ? 'Healthy' : 'Unhealthy'
  return [object.metadata.name, status, healthy?.message ?? '', healthy?.error ?? '']
}
