import { each } from '#api/each.js'
import {
  child,
  type FieldError,
  forbidden,
  index,
  invalid,
  notSupported,
  required,
} from '#api/field-error.js'
import type { LabelSelector } from '#api/label-selector.js'
import type { KubeObject } from '#api/object.js'
import { pushAll } from '#collections/push-all.js'
import { holdsGivenEmpty } from '#json/given-empty.js'
import { semanticEqual } from '#json/object.js'
import { defineKind } from '#registry/resource-definition.js'
import { validLabelSelector } from '#validation/label-selector.js'
import {
  type Cidr,
  cidrWarnings,
  parseCidrSloppily,
  validCidr,
  validPort,
  validPortOrName,
} from '#validation/network.js'

const protocols = ['TCP', 'UDP', 'SCTP']
const policyTypes = ['Ingress', 'Egress']

interface Port {
  protocol?: string
  port?: number | string
  endPort?: number
}
interface Peer {
  podSelector?: LabelSelector
  namespaceSelector?: LabelSelector
  ipBlock?: { cidr?: string; except?: string[] }
}
interface PolicyRule {
  ports?: Port[]
  from?: Peer[]
  to?: Peer[]
}

const portErrors = ({ protocol, port, endPort }: Port, path: string): FieldError[] => {
  const errors: FieldError[] = []
  if (protocol !== undefined && !protocols.includes(protocol))
    errors.push(notSupported(child(path, 'protocol'), protocol, protocols))
  const endPath = child(path, 'endPort')
  if (port === undefined) {
    if (endPort !== undefined)
      errors.push(invalid(endPath, endPort, 'may not be specified when `port` is not specified'))
    return errors
  }
  const portValid = validPortOrName(child(path, 'port'), port)
  if (endPort === undefined) return [...errors, ...portValid]
  if (typeof port === 'string')
    return [
      ...errors,
      invalid(endPath, endPort, 'may not be specified when `port` is non-numeric'),
      ...portValid,
    ]
  return [
    ...errors,
    ...portValid,
    ...(endPort < port ? [invalid(endPath, port, 'must be greater than or equal to `port`')] : []),
    ...validPort(endPath, endPort),
  ]
}

/** Go's net package takes IPv4-mapped addresses for those of IPv4 when it compares. */
const withoutMapping = (cidr: Cidr): Cidr =>
  cidr.family === 'IPv6' && cidr.base >> 32n === 0xffffn
    ? { ...cidr, family: 'IPv4', base: cidr.base & 0xffffffffn }
    : cidr

const holds = (whole: Cidr, part: Cidr): boolean => {
  const [outer, inner] = [withoutMapping(whole), withoutMapping(part)]
  return (
    outer.family === inner.family &&
    inner.base >= outer.base &&
    inner.base < outer.base + outer.size
  )
}

const blockErrors = (block: NonNullable<Peer['ipBlock']>, path: string): FieldError[] => {
  const { cidr = '', except = [] } = block
  if (cidr === '') return [required(child(path, 'cidr'))]
  const errors = validCidr(child(path, 'cidr'), cidr)
  const whole = parseCidrSloppily(cidr)
  if (whole === undefined) return errors
  const exceptErrors = except.flatMap((text, i) => {
    const at = index(child(path, 'except'), i)
    const malformed = validCidr(at, text)
    const part = parseCidrSloppily(text)
    if (part === undefined) return malformed
    const inside = holds(whole, part) && part.prefixBits > whole.prefixBits
    const subset = inside ? [] : [invalid(at, text, 'must be a strict subset of `cidr`')]
    return [...malformed, ...subset]
  })
  return [...errors, ...exceptErrors]
}

const peerErrors = (peer: Peer, path: string): FieldError[] => {
  const errors: FieldError[] = []
  const { podSelector, namespaceSelector, ipBlock } = peer
  if (podSelector) pushAll(errors, validLabelSelector(child(path, 'podSelector'), podSelector))
  if (namespaceSelector)
    pushAll(errors, validLabelSelector(child(path, 'namespaceSelector'), namespaceSelector))
  if (ipBlock) pushAll(errors, blockErrors(ipBlock, child(path, 'ipBlock')))
  if (!podSelector && !namespaceSelector && !ipBlock)
    errors.push(required(path, 'must specify a peer'))
  else if (ipBlock && (podSelector || namespaceSelector))
    errors.push(forbidden(path, 'may not specify both ipBlock and another peer'))
  return errors
}

const ruleErrors = (rule: PolicyRule, path: string, peers: 'from' | 'to'): FieldError[] => [
  ...each(child(path, 'ports'), rule.ports, portErrors),
  ...each(child(path, peers), rule[peers], peerErrors),
]

const typeErrors = (types: string[]): FieldError[] => {
  const path = 'spec.policyTypes'
  if (types.length > policyTypes.length)
    return [invalid(path, types, 'may not specify more than two policyTypes')]
  return types.flatMap((type, i) =>
    policyTypes.includes(type) ? [] : [notSupported(index(path, i), type, policyTypes)],
  )
}

const validate = ({ spec = {} }: KubeObject): FieldError[] => [
  ...validLabelSelector('spec.podSelector', spec.podSelector),
  ...each('spec.ingress', spec.ingress as PolicyRule[] | undefined, (rule, path) =>
    ruleErrors(rule, path, 'from'),
  ),
  ...each('spec.egress', spec.egress as PolicyRule[] | undefined, (rule, path) =>
    ruleErrors(rule, path, 'to'),
  ),
  ...typeErrors(spec.policyTypes ?? []),
]

const warnings = ({ spec = {} }: KubeObject): string[] =>
  (
    [
      ['ingress', 'from'],
      ['egress', 'to'],
    ] as const
  ).flatMap(([direction, peers]) =>
    ((spec[direction] ?? []) as PolicyRule[]).flatMap((rule, i) =>
      (rule[peers] ?? []).flatMap(({ ipBlock }, j) => {
        if (!ipBlock) return []
        const at = child(index(child(index(`spec.${direction}`, i), peers), j), 'ipBlock')
        return [
          ...cidrWarnings(child(at, 'cidr'), ipBlock.cidr ?? ''),
          ...(ipBlock.except ?? []).flatMap((range, k) =>
            cidrWarnings(index(child(at, 'except'), k), range),
          ),
        ]
      }),
    ),
  )

export default defineKind({
  group: 'networking.k8s.io',
  version: 'v1',
  kind: 'NetworkPolicy',
  strategy: {
    metadataRevalidation: 'change',
    // Compared as Go does, not semantically.
    generation: (next, previous) =>
      !semanticEqual(next.spec, previous.spec) || holdsGivenEmpty(next.spec),
    default: (policy) => {
      policy.spec ??= {}
      const { spec } = policy
      spec.podSelector ??= {}
      for (const rule of [...(spec.ingress ?? []), ...(spec.egress ?? [])] as PolicyRule[])
        for (const port of rule.ports ?? []) port.protocol ??= 'TCP'
      if ((spec.policyTypes ?? []).length === 0)
        spec.policyTypes = (spec.egress ?? []).length > 0 ? ['Ingress', 'Egress'] : ['Ingress']
    },
    prepareForCreate: (policy) => {
      policy.metadata.generation = 1
    },
    validate,
    validateUpdate: validate,
    warningsOnCreate: warnings,
    warningsOnUpdate: warnings,
  },
  sample: { metadata: { name: 'sample' }, spec: { podSelector: {} } },
})
