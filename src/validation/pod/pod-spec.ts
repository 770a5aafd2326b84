/** Pod specs, of pods and of templates (kubernetes, core/validation: ValidatePodSpec), in upstream's order. */

import { containerLists } from '#api/container-lists.js'
import { each } from '#api/each.js'
import {
  child,
  duplicate,
  type FieldError,
  forbidden,
  invalid,
  oneOf,
  required,
  tooLong,
} from '#api/field-error.js'
import { isQualifiedName } from '#api/names.js'
import type { Fields } from '#api/object.js'
import {
  inRange,
  int32Max,
  validDnsLabel,
  validDnsSubdomain,
  validQualifiedName,
} from '../formats.js'
import { internalForm } from '../internal-form.js'
import { validLabels } from '../label-selector.js'
import { late } from '../late-rules.js'
import { validIp } from '../network.js'
import { validTolerations } from '../toleration.js'
import { validAffinity, validTopologySpread } from './affinity.js'
import {
  validContainers,
  validEphemeralContainers,
  validHostNetwork,
  validInitContainers,
} from './containers.js'
import { validDnsConfig } from './dns-config.js'
import { validFileKeyVolumes } from './environment.js'
import { fitsPodLevelResources } from './pod-level-resources.js'
import { validOverhead, validPodResources } from './resources.js'
import { validPodSecurityContext } from './security.js'
import { checkVolumes } from './volumes.js'
import { hostProcessErrors, windowsErrors } from './windows.js'

const restartPolicies = ['Always', 'OnFailure', 'Never']
const dnsPolicies = ['ClusterFirstWithHostNet', 'ClusterFirst', 'Default', 'None']

const claimErrors = (path: string, claims: Fields[], isMirror: boolean): FieldError[] => {
  if (isMirror)
    return claims.map(() => forbidden('[]', 'static pods do not support resource claims'))
  const names = new Set<string>()
  return each(path, claims, (claim, at) => {
    const { name = '', resourceClaimName, resourceClaimTemplateName } = claim
    const errors: FieldError[] = []
    if (name === '') errors.push(required(child(at, 'name')))
    else if (names.has(name)) errors.push(duplicate(child(at, 'name'), name))
    else errors.push(...validDnsLabel(child(at, 'name'), name))
    names.add(name)
    const printed = internalForm('core.v1.PodResourceClaim', claim)
    const one = '`resourceClaimName`'
    const other = '`resourceClaimTemplateName`'
    if (resourceClaimName !== undefined && resourceClaimTemplateName !== undefined)
      errors.push(invalid(at, printed, `at most one of ${one} or ${other} may be specified`))
    if (resourceClaimName === undefined && resourceClaimTemplateName === undefined)
      errors.push(invalid(at, printed, `must specify one of: ${one}, ${other}`))
    for (const field of ['resourceClaimName', 'resourceClaimTemplateName'])
      if (claim[field] !== undefined)
        errors.push(...validDnsSubdomain(child(at, field), claim[field]))
    return errors
  })
}

const readinessErrors = (path: string, gates: Fields[]): FieldError[] =>
  each(path, gates, ({ conditionType }, at) =>
    isQualifiedName(conditionType).map((message) =>
      invalid(child(at, 'conditionType'), conditionType, message),
    ),
  )

const gateErrors = (path: string, gates: Fields[]): FieldError[] => {
  const seen = new Set<string>()
  return each(path, gates, ({ name = '' }, at) => {
    const errors = validQualifiedName(at, name)
    if (seen.has(name)) errors.push(duplicate(at, name))
    seen.add(name)
    return errors
  })
}

const hostUsersErrors = (path: string, spec: Fields): FieldError[] => {
  if (spec.hostUsers !== false) return []
  const why = 'when `hostUsers` is false'
  const deviceErrors = containerLists.flatMap((list) =>
    each(child(path, list), spec[list] as Fields[] | undefined, ({ volumeDevices = [] }, at) =>
      volumeDevices.length > 0
        ? late('devices of own users', [forbidden(child(at, 'volumeDevices'), why)])
        : [],
    ),
  )
  return [
    ...(spec.hostNetwork ? [forbidden(child(path, 'hostNetwork'), why)] : []),
    ...(spec.hostPID ? [forbidden(child(path, 'HostPID'), why)] : []),
    ...(spec.hostIPC ? [forbidden(child(path, 'HostIPC'), why)] : []),
    ...deviceErrors,
  ]
}

/** A Pod for Windows cannot have them at all, so nothing else is reported of them. */
const podResourcesErrors = (
  path: string,
  spec: Fields,
  podClaims: ReadonlySet<string>,
): FieldError[] => {
  if (spec.os?.name === 'windows') return [forbidden(path, 'may not be set for a windows pod')]
  return [
    ...validPodResources(path, spec.resources, podClaims),
    ...fitsPodLevelResources(path, spec),
  ]
}

const hostAliasErrors = (path: string, aliases: Fields[]): FieldError[] =>
  each(path, aliases, ({ ip = '', hostnames }, at) => [
    ...validIp(child(at, 'ip'), ip),
    ...each(child(at, 'hostnames'), hostnames as string[] | undefined, (name, nameAt) =>
      validDnsSubdomain(nameAt, name),
    ),
  ])

const osErrors = (path: string, { name }: Fields): FieldError[] =>
  name ? oneOf(path, name, ['linux', 'windows']) : [required(child(path, 'name'))]

const hostnameOverrideErrors = (path: string, spec: Fields): FieldError[] => {
  const name: string = spec.hostnameOverride
  const errors: FieldError[] = []
  if (spec.setHostnameAsFQDN)
    errors.push(forbidden(path, 'may not be specified when setHostnameAsFQDN is true'))
  if (spec.hostNetwork)
    errors.push(forbidden(path, 'may not be specified when hostNetwork is true'))
  if (Buffer.byteLength(name) > 64) errors.push(tooLong(path, 64))
  return [...errors, ...validDnsSubdomain(path, name)]
}

const namesErrors = (path: string, spec: Fields): FieldError[] => {
  const { serviceAccountName, nodeName, activeDeadlineSeconds, hostname, subdomain } = spec
  return [
    ...(serviceAccountName
      ? validDnsSubdomain(child(path, 'serviceAccountName'), serviceAccountName)
      : []),
    ...(nodeName ? validDnsSubdomain(child(path, 'nodeName'), nodeName) : []),
    ...(activeDeadlineSeconds !== undefined &&
    (activeDeadlineSeconds < 1 || activeDeadlineSeconds > int32Max)
      ? [invalid(child(path, 'activeDeadlineSeconds'), activeDeadlineSeconds, inRange(1, int32Max))]
      : []),
    ...(hostname ? validDnsLabel(child(path, 'hostname'), hostname) : []),
    ...(subdomain ? validDnsLabel(child(path, 'subdomain'), subdomain) : []),
  ]
}

/** No path is made for a field that is missing, as most are. `podName` is empty for templates and generated names; `isPod` is false for templates; a mirror shows a static Pod. */
export const validPodSpec = (
  path: string,
  spec: Fields,
  { podName = '', isPod = false, isMirror = false } = {},
): FieldError[] => {
  const at = (field: string) => child(path, field)
  const volumes = checkVolumes(at('volumes'), spec.volumes, { podName, isPod })
  const pod = {
    spec,
    volumes: volumes.known,
    claims: new Set(((spec.resourceClaims ?? []) as Fields[]).map((c) => c.name ?? '')),
    graceSeconds: spec.terminationGracePeriodSeconds,
    hostUsers: spec.hostUsers ?? true,
  }
  return [
    ...volumes.errors,
    ...(spec.resourceClaims
      ? claimErrors(at('resourceClaims'), spec.resourceClaims, isMirror)
      : []),
    ...validContainers(at('containers'), pod),
    ...(spec.initContainers ? validInitContainers(at('initContainers'), pod) : []),
    ...(spec.ephemeralContainers ? validEphemeralContainers(at('ephemeralContainers'), pod) : []),
    ...(spec.resources ? podResourcesErrors(at('resources'), spec, pod.claims) : []),
    ...(spec.hostNetwork ? validHostNetwork(at('containers'), spec, isPod) : []),
    ...oneOf(at('restartPolicy'), spec.restartPolicy, restartPolicies),
    ...oneOf(at('dnsPolicy'), spec.dnsPolicy, dnsPolicies),
    ...(spec.nodeSelector ? validLabels(at('nodeSelector'), spec.nodeSelector) : []),
    ...validPodSecurityContext(at('securityContext'), spec),
    ...(spec.affinity ? validAffinity(at('affinity'), spec.affinity) : []),
    ...validDnsConfig(at('dnsConfig'), spec),
    ...(spec.readinessGates ? readinessErrors(at('readinessGates'), spec.readinessGates) : []),
    ...(spec.schedulingGates ? gateErrors(at('schedulingGates'), spec.schedulingGates) : []),
    ...(spec.topologySpreadConstraints
      ? validTopologySpread(at('topologySpreadConstraints'), spec.topologySpreadConstraints)
      : []),
    ...hostProcessErrors(path, spec),
    ...hostUsersErrors(path, spec),
    ...(spec.hostnameOverride === undefined
      ? []
      : hostnameOverrideErrors(at('hostnameOverride'), spec)),
    ...namesErrors(path, spec),
    ...validTolerations(at('tolerations'), spec.tolerations ?? []),
    ...(spec.hostAliases ? hostAliasErrors(at('hostAliases'), spec.hostAliases) : []),
    ...(spec.priorityClassName
      ? validDnsSubdomain(at('priorityClassName'), spec.priorityClassName)
      : []),
    ...(spec.runtimeClassName !== undefined
      ? validDnsSubdomain(at('runtimeClassName'), spec.runtimeClassName)
      : []),
    ...(spec.preemptionPolicy === ''
      ? [required(at('preemptionPolicy'))]
      : oneOf(at('preemptionPolicy'), spec.preemptionPolicy, ['PreemptLowerPriority', 'Never'])),
    ...(spec.overhead ? validOverhead(at('overhead'), spec.overhead) : []),
    ...(spec.os ? osErrors(at('os'), spec.os) : []),
    ...windowsErrors(path, spec),
    ...validFileKeyVolumes(path, spec),
  ]
}
