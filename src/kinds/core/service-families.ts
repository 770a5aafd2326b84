/** Which IP families a Service has: asked for, inferred from its addresses, or the cluster's (alloc.go, initIPFamilyFields). */
import { type FieldError, index, invalid } from '#api/field-error.js'
import { familyOf, type IpFamily } from '#validation/network.js'
import { validClusterIps } from './service-cluster-ips.js'
import { needsClusterIp, type ServiceSpec, sameClusterIps, sameList } from './service-spec.js'

const policyPath = 'spec.ipFamilyPolicy'
const isSelectorless = ({ selector }: ServiceSpec): boolean =>
  Object.keys(selector ?? {}).length === 0
const otherFamily = (family: IpFamily): IpFamily => (family === 'IPv4' ? 'IPv6' : 'IPv4')

/** A PreferDualStack Service keeps its families when those of the cluster have changed. */
const keepsPreferDualStack = (spec: ServiceSpec, previous: ServiceSpec | undefined): boolean =>
  previous?.type === spec.type &&
  previous?.ipFamilyPolicy === 'PreferDualStack' &&
  spec.ipFamilyPolicy === 'PreferDualStack' &&
  sameClusterIps(spec, previous) &&
  sameList(spec.ipFamilies, previous.ipFamilies)

const defaultPolicy = (spec: ServiceSpec, previous: ServiceSpec | undefined): string => {
  if (previous?.ipFamilyPolicy !== undefined) return previous.ipFamilyPolicy
  return spec.clusterIP === 'None' && isSelectorless(spec) ? 'RequireDualStack' : 'SingleStack'
}

/** SingleStack drops the second address and family that were there before; other policies may not lose them. */
const applyReduction = (spec: ServiceSpec, previous: ServiceSpec): FieldError[] => {
  const [ips, families] = [spec.clusterIPs ?? [], spec.ipFamilies ?? []]
  if (spec.ipFamilyPolicy === 'SingleStack') {
    if (sameClusterIps(spec, previous) && ips.length > 1) spec.clusterIPs = ips.slice(0, 1)
    if (sameList(previous.ipFamilies, families) && families.length > 1)
      spec.ipFamilies = families.slice(0, 1)
    return []
  }
  const isReduced = (before: readonly string[] = [], after: readonly string[]): boolean =>
    after.length > 0 && after.length < before.length
  const release = (what: string): FieldError =>
    invalid(
      policyPath,
      spec.ipFamilyPolicy,
      `must be 'SingleStack' to release the secondary ${what}`,
    )
  return [
    ...(isReduced(previous.clusterIPs, ips) ? [release('cluster IP')] : []),
    ...(isReduced(previous.ipFamilies, families) ? [release('IP family')] : []),
  ]
}

const policyErrors = (spec: ServiceSpec): FieldError[] => {
  if (spec.ipFamilyPolicy !== 'SingleStack') return []
  const many = (what: string): FieldError =>
    invalid(
      policyPath,
      spec.ipFamilyPolicy,
      `must be 'RequireDualStack' or 'PreferDualStack' when multiple ${what} are specified`,
    )
  return [
    ...(spec.clusterIPs?.length === 2 ? [many('cluster IPs')] : []),
    ...(spec.ipFamilies?.length === 2 ? [many('IP families')] : []),
  ]
}

const inferFamilies = (spec: ServiceSpec, configured: readonly IpFamily[]): FieldError[] => {
  const errors: FieldError[] = []
  for (const [i, ip] of (spec.clusterIPs ?? []).entries()) {
    if (ip === 'None') break
    if (i < (spec.ipFamilies ?? []).length) continue
    const family = familyOf(ip)
    if (configured.includes(family)) spec.ipFamilies = [...(spec.ipFamilies ?? []), family]
    else
      errors.push(
        invalid(
          index('spec.clusterIPs', i),
          spec.clusterIPs,
          `${family} is not configured on this cluster`,
        ),
      )
  }
  return errors
}

const clusterErrors = (spec: ServiceSpec, configured: readonly IpFamily[]): FieldError[] => [
  ...(spec.ipFamilyPolicy === 'RequireDualStack' && configured.length < 2
    ? [
        invalid(
          policyPath,
          spec.ipFamilyPolicy,
          'this cluster is not configured for dual-stack services',
        ),
      ]
    : []),
  ...(spec.ipFamilies ?? []).flatMap((family, i) =>
    configured.includes(family)
      ? []
      : [invalid(index('spec.ipFamilies', i), family, 'not configured on this cluster')],
  ),
]

/** Those of the addresses; without any, as many as the endpoints of a headless Service may have. */
const inferredFamilies = (spec: ServiceSpec, primary: IpFamily): IpFamily[] => {
  if (spec.clusterIP !== 'None') return (spec.clusterIPs ?? []).map(familyOf)
  return isSelectorless(spec) ? [primary, otherFamily(primary)] : [primary]
}

/** For a Service that was stored before there were families (storage.go, defaultOnReadIPFamilies); `primary` is the cluster's default. */
export const completeFamilies = (spec: ServiceSpec, primary: IpFamily): void => {
  if (!needsClusterIp(spec) || (spec.ipFamilies ?? []).length > 0) return
  const families = inferredFamilies(spec, primary)
  if (families.length === 0) return
  spec.ipFamilies = families
  spec.ipFamilyPolicy = families.length === 1 ? 'SingleStack' : 'RequireDualStack'
}

/** Writes ipFamilyPolicy and ipFamilies into `spec`, which is private; `configured` has the default family first. */
export const initFamilies = (
  spec: ServiceSpec,
  configured: readonly IpFamily[],
  previous?: ServiceSpec,
): FieldError[] => {
  if (keepsPreferDualStack(spec, previous)) return []
  spec.ipFamilyPolicy ??= defaultPolicy(spec, previous)
  const malformed = validClusterIps(spec)
  if (malformed.length > 0) return malformed
  const early = [
    ...(previous === undefined ? [] : applyReduction(spec, previous)),
    ...policyErrors(spec),
    ...inferFamilies(spec, configured),
  ]
  if (early.length > 0) return early
  const isFree = spec.clusterIP === 'None' && isSelectorless(spec)
  if (!isFree) {
    const errors = clusterErrors(spec, configured)
    if (errors.length > 0) return errors
  }
  if ((spec.ipFamilies ?? []).length === 0) spec.ipFamilies = configured.slice(0, 1)
  const wantsBoth = spec.ipFamilyPolicy !== 'SingleStack' && spec.ipFamilies?.length === 1
  if (wantsBoth && (isFree || configured.length === 2))
    spec.ipFamilies = [...spec.ipFamilies!, otherFamily(spec.ipFamilies![0]!)]
  return []
}
