import { each } from '#api/each.js'
import { child, type FieldError, index, required } from '#api/field-error.js'
import type { KubeObject } from '#api/object.js'
import { defineKind } from '#registry/resource-definition.js'
import { validDnsLabel, validDnsSubdomain, validQualifiedName } from '#validation/formats.js'
import { ipWarnings, nonSpecialIp, validIp, validPort, validProtocol } from '#validation/network.js'

interface Address {
  ip?: string
  hostname?: string
  nodeName?: string
}
interface Port {
  name?: string
  port?: number
  protocol?: string
  appProtocol?: string
}
interface Subset {
  addresses?: Address[]
  notReadyAddresses?: Address[]
  ports?: Port[]
}

const addressErrors = ({ ip = '', hostname, nodeName }: Address, path: string): FieldError[] => {
  const at = child(path, 'ip')
  return [
    ...validIp(at, ip),
    ...(hostname ? validDnsLabel(child(path, 'hostname'), hostname) : []),
    // Where Go has a pointer, an empty text is checked as well.
    ...(nodeName === undefined ? [] : validDnsSubdomain(child(path, 'nodeName'), nodeName)),
    // Upstream looks at it a second time, in shorter words.
    ...nonSpecialIp(at, ip),
  ]
}

const portErrors = (port: Port, path: string, nameRequired: boolean): FieldError[] => [
  ...(nameRequired && !port.name ? [required(child(path, 'name'))] : []),
  ...(port.name ? validDnsLabel(child(path, 'name'), port.name) : []),
  ...validPort(child(path, 'port'), port.port ?? 0),
  ...(port.protocol
    ? validProtocol(child(path, 'protocol'), port.protocol)
    : [required(child(path, 'protocol'))]),
  ...(port.appProtocol === undefined
    ? []
    : validQualifiedName(child(path, 'appProtocol'), port.appProtocol)),
]

const subsetErrors = (subset: Subset, path: string): FieldError[] => {
  const { addresses = [], notReadyAddresses = [], ports = [] } = subset
  return [
    ...(addresses.length + notReadyAddresses.length === 0
      ? [required(path, 'must specify `addresses` or `notReadyAddresses`')]
      : []),
    ...each(child(path, 'addresses'), addresses, addressErrors),
    ...each(child(path, 'notReadyAddresses'), notReadyAddresses, addressErrors),
    ...each(child(path, 'ports'), ports, (port, at) => portErrors(port, at, ports.length > 1)),
  ]
}

const validate = ({ subsets = [] }: KubeObject): FieldError[] =>
  each('subsets', subsets as Subset[], subsetErrors)

const managedBy = 'endpoints.kubernetes.io/managed-by'

/** The controller writes addresses in the form that they should have. */
const warnings = ({ metadata, subsets = [] }: KubeObject): string[] =>
  metadata.labels?.[managedBy] === 'endpoint-controller'
    ? []
    : (subsets as Subset[]).flatMap((subset, i) =>
        (['addresses', 'notReadyAddresses'] as const).flatMap((list) =>
          (subset[list] ?? []).flatMap(({ ip = '' }, j) =>
            ipWarnings(child(index(child(index('subsets', i), list), j), 'ip'), ip),
          ),
        ),
      )

export default defineKind({
  group: '',
  version: 'v1',
  kind: 'Endpoints',
  deprecationWarning: 'v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice',
  strategy: {
    allowCreateOnUpdate: true,
    default: (endpoints) => {
      for (const subset of (endpoints.subsets ?? []) as Subset[])
        for (const port of subset.ports ?? []) port.protocol ||= 'TCP'
    },
    validate,
    validateUpdate: validate,
    warningsOnCreate: warnings,
    warningsOnUpdate: warnings,
  },
  sample: {
    metadata: { name: 'sample' },
    subsets: [{ addresses: [{ ip: '10.1.1.1' }], ports: [{ port: 80 }] }],
  },
})
