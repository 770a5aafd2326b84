import { type FieldError, index, invalid, required } from '#api/field-error.js'
import type { KubeObject } from '#api/object.js'
import { givenEmpty } from '#json/given-empty.js'
import { defineKind } from '#registry/resource-definition.js'
import { immutableMessage } from '#validation/immutable.js'
import {
  bigIntToIp,
  cidrMessages,
  familyOf,
  parseCidr,
  parseCidrSloppily,
} from '#validation/network.js'
import { onlyStatusChanges, ownStatus } from '../status.js'

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
  const errors = cidrs.flatMap((text, i) => canonicalErrors(text, index(path, i)))
  const families = cidrs.map((text) =>
    parseCidrSloppily(text) === undefined ? undefined : familyOf(text.split('/')[0]!),
  )
  if (cidrs.length === cidrsMax && families[0] !== undefined && families[0] === families[1])
    errors.push(
      invalid(
        path,
        cidrs,
        'may specify no more than one IP for each IP family, i.e 192.168.0.0/24 and 2001:db8::/64',
      ),
    )
  return errors
}

/** A second family may be added; what was there stays. */
const validateUpdate = (next: KubeObject, previous: KubeObject): FieldError[] => {
  const given: string[] | undefined = next.spec?.cidrs
  const stored: string[] = previous.spec?.cidrs ?? []
  const cidrs = given ?? []
  const changed = stored.flatMap((cidr, i) =>
    cidr === cidrs[i] ? [] : [invalid(index(path, i), cidrs[i], immutableMessage)],
  )
  if (cidrs.length === stored.length) return changed
  if (cidrs.length === 2 && stored.length === 1) return [...changed, ...validate(next)]
  return [invalid(path, given ?? givenEmpty(next.spec, 'cidrs'), immutableMessage)]
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
    validateUpdate,
    status: { prepareForUpdate: onlyStatusChanges },
  },
  sample: { metadata: { name: 'sample' }, spec: { cidrs: ['10.254.0.0/24'] } },
})
