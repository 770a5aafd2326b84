/** Cluster addresses of a Service and their families: what they may be and how they may change. */
import {
  duplicate,
  type FieldError,
  index,
  invalid,
  notSupported,
  required,
  shownAsJson,
} from '#api/field-error.js'
import { familyOf, ipMessages, validIp } from '#validation/network.js'
import { isHeadless, type ServiceSpec } from './service-spec.js'

const ipsPath = 'spec.clusterIPs'
const familiesPath = 'spec.ipFamilies'
const policyPath = 'spec.ipFamilyPolicy'
const families = ['IPv4', 'IPv6']
const policies = ['PreferDualStack', 'RequireDualStack', 'SingleStack']

const agreementErrors = ({ clusterIP = '', clusterIPs = [] }: ServiceSpec): FieldError[] => {
  if (clusterIP === '')
    return clusterIPs.length === 0
      ? []
      : [invalid(ipsPath, clusterIPs, 'must be empty when `clusterIP` is not specified')]
  if (clusterIPs.length === 0) return [required(ipsPath)]
  return clusterIPs[0] === clusterIP
    ? []
    : [invalid(ipsPath, clusterIPs, 'first value must match `clusterIP`')]
}

const familyErrors = ({ ipFamilies = [], ipFamilyPolicy }: ServiceSpec): FieldError[] => {
  const seen = new Set<string>()
  const errors = ipFamilies.flatMap((family, i) => {
    const path = index(familiesPath, i)
    const isDuplicate = seen.has(family)
    seen.add(family)
    return [
      ...(families.includes(family) ? [] : [shownAsJson(notSupported(path, family, families))]),
      ...(isDuplicate ? [shownAsJson(duplicate(path, family))] : []),
    ]
  })
  if (ipFamilyPolicy !== undefined && !policies.includes(ipFamilyPolicy))
    errors.push(shownAsJson(notSupported(policyPath, ipFamilyPolicy, policies)))
  return errors
}

const formErrors = (clusterIPs: string[]): FieldError[] => {
  const errors: FieldError[] = []
  for (const [i, ip] of clusterIPs.entries()) {
    if (i > 0 || ip !== 'None') errors.push(...validIp(index(ipsPath, i), ip))
    else if (clusterIPs.length > 1)
      errors.push(invalid(ipsPath, clusterIPs, "'None' must be the first and only value"))
  }
  return errors
}

const crossErrors = (spec: ServiceSpec): FieldError[] => {
  const { clusterIPs = [], ipFamilies = [] } = spec
  const errors: FieldError[] = []
  const kinds = new Set(clusterIPs.map(familyOf))
  if (clusterIPs.length > 1 && kinds.size < 2)
    errors.push(invalid(ipsPath, clusterIPs, 'may specify no more than one IP for each IP family'))
  if (isHeadless(spec)) return errors
  for (const [i, ip] of clusterIPs.slice(0, ipFamilies.length).entries()) {
    const family = ipFamilies[i]!
    if (families.includes(family) && familyOf(ip) !== family)
      errors.push(
        invalid(
          index(ipsPath, i),
          ip,
          `expected an ${family} value as indicated by \`ipFamilies[${i}]\``,
        ),
      )
  }
  return errors
}

export const validClusterIps = (spec: ServiceSpec): FieldError[] => {
  if (spec.type === 'ExternalName') return []
  const { clusterIPs = [] } = spec
  const malformed = formErrors(clusterIPs)
  const isMalformed = clusterIPs.some((ip, i) =>
    i === 0 && ip === 'None' ? clusterIPs.length > 1 : ipMessages(ip).length > 0,
  )
  return [
    ...agreementErrors(spec),
    ...familyErrors(spec),
    ...malformed,
    ...(clusterIPs.length > 2
      ? [invalid(ipsPath, clusterIPs, 'may only hold up to 2 values')]
      : []),
    ...(isMalformed ? [] : crossErrors(spec)),
  ]
}

interface ListChange {
  path: string
  before: readonly string[]
  after: readonly string[]
  policy: string | undefined
  what: string
  /** Of families, too, upstream shows these where one was added or went. */
  addresses: readonly string[]
  /** Families report every change at the first entry. */
  atFirst: boolean
}

const listChangeErrors = (change: ListChange): FieldError[] => {
  const { path, before, after, policy, what, addresses, atFirst } = change
  const changed = (i: number, shown: readonly string[]): FieldError =>
    invalid(index(path, atFirst ? 0 : i), shown, 'may not change once set')
  if (before.length === after.length)
    return before.flatMap((value, i) => (value === after[i] ? [] : [changed(i, after)]))
  const errors: FieldError[] = []
  if (before.length > after.length && after.length === 0)
    errors.push(invalid(index(path, 0), after, `primary ${what} can not be unset`))
  if (before.length > 0 && after.length > 0 && before[0] !== after[0])
    errors.push(changed(0, addresses))
  if (before.length > after.length && after.length === 1 && policy !== 'SingleStack')
    errors.push(
      invalid(
        policyPath,
        policy,
        `must be set to 'SingleStack' when releasing the secondary ${what}`,
      ),
    )
  return errors
}

/** The first address and family are for life; the second comes and goes with the policy. */
export const validClusterIpChange = (next: ServiceSpec, previous: ServiceSpec): FieldError[] => {
  if (next.type === 'ExternalName' || previous.type === 'ExternalName') return []
  const [isNow, was] = [isHeadless(next), isHeadless(previous)]
  if (isNow && was) return []
  const { ipFamilyPolicy: policy, clusterIPs: addresses = [] } = next
  const errors = listChangeErrors({
    path: ipsPath,
    before: previous.clusterIPs ?? [],
    after: addresses,
    policy,
    addresses,
    what: 'clusterIP',
    atFirst: false,
  })
  if (isNow !== was) return errors
  return [
    ...errors,
    ...listChangeErrors({
      path: familiesPath,
      before: previous.ipFamilies ?? [],
      after: next.ipFamilies ?? [],
      policy,
      addresses,
      what: 'ipFamily',
      atFirst: true,
    }),
  ]
}
