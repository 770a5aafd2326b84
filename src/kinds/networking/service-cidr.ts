import { type FieldError, index, invalid, required } from '#api/field-error.js'
import type { KubeObject } from '#api/object.js'
import { defineKind } from '#registry/resource-definition.js'
import { sameJson } from '#validation/immutable.js'
import { bigIntToIp, cidrMessages, parseCidr } from '#validation/network.js'
import { ownStatus } from '../status.js'

const path = 'spec.cidrs'
const cidrsMax = 2

const canonicalErrors = (text: string, at: string): FieldError[] => {
  const malformed = cidrMessages(text)
  const cidr = parseCidr(text)
  if (malformed.length > 0 || cidr === undefined) return malformed.map((m) => invalid(at, text, m))
  const canonical = `${bigIntToIp(cidr.base, cidr.family)}/${cidr.prefixBits}`
  return canonical === text
    ? []
    : [invalid(at, text, `must be in canonical form (${JSON.stringify(canonical)})`)]
}

const validate = ({ spec = {} }: KubeObject): FieldError[] => {
  const cidrs: string[] = spec.cidrs ?? []
  if (cidrs.length === 0) return [required(path, 'at least one CIDR required')]
  if (cidrs.length > cidrsMax)
    return [invalid(path, { CIDRs: cidrs }, `may only hold up to ${cidrsMax} values`)]
  const parsed = cidrs.map(parseCidr)
  if (cidrs.length === cidrsMax && parsed.every((cidr) => cidr !== undefined)) {
    if (parsed[0]!.family === parsed[1]!.family)
      return [
        invalid(
          path,
          cidrs,
          'may specify no more than one IP for each IP family, i.e 192.168.0.0/24 and 2001:db8::/64',
        ),
      ]
  }
  return cidrs.flatMap((text, i) => canonicalErrors(text, index(path, i)))
}

/** A second family may be added; what was there stays. */
const changeErrors = (next: string[], previous: string[]): FieldError[] => {
  const kept = previous.every((cidr, i) => next[i] === cidr)
  if (sameJson(next, previous) || (kept && previous.length === 1 && next.length === 2)) return []
  return [invalid(path, next, 'field is immutable')]
}

export default defineKind({
  group: 'networking.k8s.io',
  version: 'v1',
  kind: 'ServiceCIDR',
  strategy: {
    generation: 'none',
    ...ownStatus('io.k8s.api.networking.v1.ServiceCIDRStatus'),
    validate,
    metadataRevalidation: 'change',
    validateUpdate: (next, previous) => [
      ...changeErrors(next.spec?.cidrs ?? [], previous.spec?.cidrs ?? []),
    ],
  },
  sample: { metadata: { name: 'sample' }, spec: { cidrs: ['10.254.0.0/24'] } },
})
