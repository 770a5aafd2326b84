import { each } from '#api/each.js'
import {
  child,
  duplicate,
  type FieldError,
  index,
  invalid,
  notSupported,
  required,
  tooMany,
} from '#api/field-error.js'
import type { KubeObject } from '#api/object.js'
import { defineKind } from '#registry/resource-definition.js'
import {
  validDnsLabel,
  validDnsSubdomain,
  validFullyQualifiedName,
  validLabelValue,
  validQualifiedName,
} from '#validation/formats.js'
import { immutable, sameJson } from '#validation/immutable.js'
import {
  canonicalIpMessages,
  familyOf,
  ipMessages,
  ipWarnings,
  nonSpecialIp,
  validProtocol,
} from '#validation/network.js'

const addressTypes = ['FQDN', 'IPv4', 'IPv6']
const addressesMax = 100
const portsMax = 20_000
const endpointsMax = 1_000
const zonesMax = 8
const nodesMax = 8

interface Hint {
  name: string
}
interface Endpoint {
  addresses?: string[]
  hostname?: string
  nodeName?: string
  deprecatedTopology?: Record<string, string>
  hints?: { forZones?: Hint[]; forNodes?: Hint[] }
}
interface Port {
  name?: string
  port?: number
  protocol?: string
  appProtocol?: string
}

const portsErrors = (ports: Port[]): FieldError[] => {
  if (ports.length > portsMax) return [tooMany('ports', ports.length, portsMax)]
  const names = new Set<string>()
  return ports.flatMap((port, i) => {
    const path = index('ports', i)
    const name = port.name ?? ''
    const repeated = names.has(name) ? [duplicate(child(path, 'name'), name)] : []
    names.add(name)
    return [
      ...(name === '' ? [] : validDnsLabel(child(path, 'name'), name)),
      ...repeated,
      ...(port.protocol === undefined
        ? [required(child(path, 'protocol'))]
        : validProtocol(child(path, 'protocol'), port.protocol)),
      ...(port.appProtocol === undefined
        ? []
        : validQualifiedName(child(path, 'appProtocol'), port.appProtocol)),
    ]
  })
}

const addressErrors = (address: string, path: string, type: string, list: string): FieldError[] => {
  if (!addressTypes.includes(type)) return []
  if (type === 'FQDN') return validFullyQualifiedName(path, address)
  // What came with IPv6 was never read in more than one form.
  const malformed = (type === 'IPv6' ? canonicalIpMessages : ipMessages)(address)
  if (malformed.length > 0) return malformed.map((message) => invalid(path, address, message))
  const article = `must be an ${type} address`
  return [
    ...(familyOf(address) === type ? [] : [invalid(list, address, article)]),
    ...nonSpecialIp(path, address),
  ]
}

type Check = (path: string, value: string) => FieldError[]

const hintErrors = (hints: Hint[], path: string, max: number, check: Check) => {
  if (hints.length > max) return [tooMany(path, hints.length, max)]
  const names = new Set<string>()
  return hints.flatMap((hint, i) => {
    const at = child(index(path, i), 'name')
    const repeated = names.has(hint.name) ? [duplicate(at, hint.name)] : []
    names.add(hint.name)
    return [...repeated, ...check(at, hint.name)]
  })
}

const hintsErrors = (hints: Endpoint['hints'], path: string): FieldError[] => {
  const zones = hints?.forZones ?? []
  const zoneErrors = hintErrors(zones, child(path, 'forZones'), zonesMax, validLabelValue)
  if (zones.length > zonesMax) return zoneErrors
  const nodes = hints?.forNodes ?? []
  return [...zoneErrors, ...hintErrors(nodes, child(path, 'forNodes'), nodesMax, validDnsSubdomain)]
}

const endpointErrors = (endpoint: Endpoint, path: string, type: string): FieldError[] => {
  const { hints, hostname, nodeName } = endpoint
  // Go's null for a list without omitempty.
  const addresses = endpoint.addresses ?? []
  const list = child(path, 'addresses')
  return [
    ...(addresses.length === 0 ? [required(list, 'must contain at least 1 address')] : []),
    ...(addresses.length > addressesMax ? [tooMany(list, addresses.length, addressesMax)] : []),
    ...each(list, addresses, (a, at) => addressErrors(a, at, type, list)),
    ...(nodeName === undefined ? [] : validDnsSubdomain(child(path, 'nodeName'), nodeName)),
    ...(hostname === undefined ? [] : validDnsLabel(child(path, 'hostname'), hostname)),
    ...hintsErrors(hints, child(path, 'hints')),
  ]
}

const validate = (slice: KubeObject, previous?: KubeObject): FieldError[] => {
  const type: string = slice.addressType ?? ''
  // What was stored once stays valid.
  const isKept = previous !== undefined && sameJson(slice.endpoints, previous.endpoints)
  const endpoints: Endpoint[] = isKept ? [] : (slice.endpoints ?? [])
  return [
    ...(type === '' ? [required('addressType')] : []),
    ...(type === '' || addressTypes.includes(type)
      ? []
      : [notSupported('addressType', type, addressTypes)]),
    ...portsErrors(slice.ports ?? []),
    ...(endpoints.length > endpointsMax
      ? [tooMany('endpoints', endpoints.length, endpointsMax)]
      : each('endpoints', endpoints, (e, at) => endpointErrors(e, at, type))),
  ]
}

const content = ({ metadata, ...rest }: KubeObject) => ({ ...rest, labels: metadata.labels ?? {} })

const hostLabel = 'kubernetes.io/hostname'

/** v1 does not write this field; a node name that was known through it moves to its own. */
const dropTopology = (next: KubeObject, previous?: KubeObject): void => {
  const hostOf = (endpoint: Endpoint): string | undefined =>
    endpoint.deprecatedTopology?.[hostLabel]
  const known = new Set(((previous?.endpoints ?? []) as Endpoint[]).map(hostOf))
  for (const endpoint of (next.endpoints ?? []) as Endpoint[]) {
    const host = hostOf(endpoint)
    if (endpoint.nodeName === undefined && host && known.has(host)) endpoint.nodeName = host
    delete endpoint.deprecatedTopology
  }
}

const managedBy = 'endpointslice.kubernetes.io/managed-by'
/** Controllers that write addresses in their recommended form. */
const carefulManagers = [
  'endpointslice-controller.k8s.io',
  'endpointslicemirroring-controller.k8s.io',
]

const addressWarnings = ({ metadata, endpoints }: KubeObject): string[] =>
  carefulManagers.includes(metadata.labels?.[managedBy] ?? '')
    ? []
    : ((endpoints ?? []) as Endpoint[]).flatMap(({ addresses }, i) =>
        (addresses ?? []).flatMap((address, j) =>
          ipWarnings(index(child(index('endpoints', i), 'addresses'), j), address),
        ),
      )

export default defineKind({
  group: 'discovery.k8s.io',
  version: 'v1',
  kind: 'EndpointSlice',
  strategy: {
    metadataRevalidation: 'create',
    generation: 'none',
    default: (slice) => {
      for (const port of (slice.ports ?? []) as Port[]) {
        port.name ??= ''
        port.protocol ??= 'TCP'
      }
    },
    prepareForCreate: (slice) => {
      slice.metadata.generation = 1
      dropTopology(slice)
    },
    prepareForUpdate: (next, previous) => {
      // Counted before the topology goes.
      if (!sameJson(content(next), content(previous)))
        next.metadata.generation = (previous.metadata.generation ?? 0) + 1
      if (!sameJson(next.endpoints, previous.endpoints)) dropTopology(next, previous)
    },
    validate: (slice) => validate(slice),
    warningsOnCreate: (slice) => [
      ...(slice.addressType === 'FQDN' ? ['spec.addressType: FQDN endpoints are deprecated'] : []),
      ...addressWarnings(slice),
    ],
    warningsOnUpdate: addressWarnings,
    validateUpdate: (next, previous) => [
      ...validate(next, previous),
      ...immutable('addressType', next.addressType, previous.addressType),
    ],
  },
  sample: {
    metadata: { name: 'sample', labels: { [managedBy]: 'sample' } },
    addressType: 'IPv4',
    endpoints: [{ addresses: ['10.1.1.1'] }],
    ports: [{ port: 80 }],
  },
})
