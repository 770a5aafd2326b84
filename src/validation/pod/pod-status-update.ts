/** What may be said of a pod that exists (kubernetes, core/validation: ValidatePodStatusUpdate). */
import { isIP } from 'node:net'
import { mayRestartAll, type RestartableContainer, shouldRestart } from '#api/container-restart.js'
import { each } from '#api/each.js'
import {
  child,
  duplicate,
  type FieldError,
  forbidden,
  internal,
  invalid,
  required,
  shownAsJson,
} from '#api/field-error.js'
import type { Fields, KubeObject } from '#api/object.js'
import { validDnsLabel, validDnsSubdomain, validQualifiedName } from '../formats.js'
import { immutable } from '../immutable.js'
import { familyOf, validIp, withoutLeadingZeros } from '../network.js'
import { byName } from './by-name.js'
import { allocatedErrors, noAllocatedErrors, userErrors } from './container-status.js'
import { annotationChanges } from './pod-update.js'

const negative = (path: string, generation: number | undefined): FieldError[] =>
  (generation ?? 0) < 0 ? [invalid(path, generation, 'must be a non-negative integer')] : []

const systemConditions = new Set(['PodScheduled', 'Ready', 'Initialized'])

const conditionErrors = (conditions: Fields[] | undefined): FieldError[] =>
  each('status.conditions', conditions, ({ type = '', observedGeneration }, at) => [
    ...negative(child(at, 'observedGeneration'), observedGeneration),
    ...(systemConditions.has(type) ? [] : validQualifiedName(child(at, 'Type'), type)),
  ])

const nominationErrors = (
  { status, spec }: KubeObject,
  previous: string | undefined,
): FieldError[] => {
  const path = 'status.nominatedNodeName'
  const node: string = status.nominatedNodeName ?? ''
  if (node === '' || node === previous) return []
  return [
    ...validDnsSubdomain(path, node),
    ...(spec.nodeName
      ? [forbidden(path, 'may not be set on pods that are already bound to a node')]
      : []),
  ]
}

/** A container that has ended may only run again if its restart policy and rules would start it. */
const stateErrors = (
  field: string,
  next: KubeObject,
  previous: KubeObject,
  mayRestart: (name: string, exitCode: number) => boolean,
): FieldError[] => {
  const running = new Set(
    ((next.status[field] ?? []) as Fields[])
      .filter(({ state }) => state?.terminated === undefined)
      .map(({ name }) => name),
  )
  return each(
    `status.${field}`,
    previous.status?.[field] as Fields[] | undefined,
    ({ name, state }, at) =>
      state?.terminated !== undefined &&
      running.has(name) &&
      !mayRestart(name, state.terminated.exitCode ?? 0)
        ? [forbidden(child(at, 'state'), 'may not be transitioned to non-terminated state')]
        : [],
  )
}

const stateErrorsOf = (next: KubeObject, previous: KubeObject): FieldError[] => {
  const { restartPolicy, containers, initContainers } = previous.spec
  const all = mayRestartAll(previous.spec)
  // A status of no container of the Pod's belongs to nothing that could restart.
  const of = (list: RestartableContainer[] | undefined) => {
    const containers = byName(list)
    return (name: string, exitCode: number) => {
      const container = containers.get(name)
      return all || (container !== undefined && shouldRestart(container, restartPolicy, exitCode))
    }
  }
  return [
    ...stateErrors('containerStatuses', next, previous, of(containers)),
    ...stateErrors('initContainerStatuses', next, previous, of(initContainers)),
    ...stateErrors('ephemeralContainerStatuses', next, previous, () => false),
  ]
}

const claimStatusErrors = ({ spec, status }: KubeObject): FieldError[] => {
  const claims = byName(spec.resourceClaims as Fields[] | undefined)
  const seen = new Set<string>()
  return each('status.resourceClaimStatuses', status.resourceClaimStatuses as Fields[], (s, at) => {
    const { name = '', resourceClaimName } = s
    const errors: FieldError[] = []
    if (!claims.has(name))
      errors.push(
        invalid(
          child(at, 'name'),
          name,
          'must match the name of an entry in `spec.resourceClaims`',
        ),
      )
    if (seen.has(name)) errors.push(duplicate(child(at, 'name'), name))
    seen.add(name)
    const claimErrors =
      resourceClaimName === undefined
        ? []
        : validDnsSubdomain(child(at, 'resourceClaimName'), resourceClaimName)
    errors.push(...claimErrors.map(shownAsJson))
    return errors
  })
}

const extendedClaimErrors = ({ spec, status }: KubeObject): FieldError[] => {
  const claim: Fields | undefined = status.extendedResourceClaimStatus
  if (!claim) return []
  const path = 'status.extendedResourceClaimStatus'
  const containers = byName<Fields>([...(spec.initContainers ?? []), ...spec.containers])
  const seen = new Set<string>()
  const mapping = (m: Fields, at: string): FieldError[] => {
    const { containerName = '', resourceName = '', requestName = '' } = m
    const container = containers.get(containerName)
    const key = JSON.stringify([containerName, resourceName, requestName])
    const errors: FieldError[] = []
    if (!container)
      errors.push(
        invalid(
          child(at, 'containerName'),
          containerName,
          'must match the name of an entry in spec.initContainers.name or spec.containers.name',
        ),
      )
    else if (!Object.hasOwn(container.resources?.requests ?? {}, resourceName))
      errors.push(
        invalid(
          child(at, 'resourceName'),
          resourceName,
          'must match the extended resource name of an entry in spec.initContainers.resources.requests or spec.containers.resources.requests',
        ),
      )
    errors.push(...validDnsLabel(child(path, 'requestName'), requestName))
    if (seen.has(key))
      for (const field of ['containerName', 'resourceName', 'requestName'])
        errors.push(duplicate(child(at, field), m[field] ?? ''))
    seen.add(key)
    return errors
  }
  const mappings = claim.requestMappings as Fields[] | undefined
  const nameAt = child(path, 'resourceClaimName')
  return [
    ...(mappings?.length
      ? each(child(path, 'requestMappings'), mappings, mapping)
      : [required(child(path, 'requestMappings'), 'at least one request mapping is required')]),
    ...(claim.resourceClaimName
      ? validDnsSubdomain(nameAt, claim.resourceClaimName)
      : [required(nameAt)]),
  ]
}

const addressErrors = (
  path: string,
  addresses: Fields[] = [],
  previous: Fields[] = [],
): FieldError[] => {
  const known = new Set(previous.map(({ ip }) => ip))
  const errors = each(path, addresses, ({ ip = '' }, at) => (known.has(ip) ? [] : validIp(at, ip)))
  if (addresses.length < 2) return errors
  const odd = addresses.findIndex(
    ({ ip = '' }) => isIP(ip) === 0 && withoutLeadingZeros(ip) === undefined,
  )
  if (odd >= 0) {
    const detail = `failed to check for dual stack with error:invalid IP[${odd}]: ${addresses[odd]!.ip ?? ''}`
    errors.push(internal(path, detail))
  }
  const families = new Set(addresses.map(({ ip = '' }) => familyOf(ip)))
  if (odd >= 0 || addresses.length > 2 || families.size < 2)
    errors.push(
      invalid(
        path,
        addresses.map(({ ip }) => ({ IP: ip })),
        'may specify no more than one IP for each IP family',
      ),
    )
  return errors
}

const hostAddressErrors = ({ hostIP = '', hostIPs }: Fields): FieldError[] =>
  hostIPs?.length > 0 && hostIPs[0].ip !== hostIP
    ? [invalid('status.hostIPs[0].ip', hostIPs[0].ip, 'must be equal to `hostIP`')]
    : []

const containerErrors = ({ spec, status }: KubeObject): FieldError[] => {
  const os: string = spec.os?.name || 'linux'
  const lists = ['containerStatuses', 'initContainerStatuses', 'ephemeralContainerStatuses']
  return [
    ...lists.flatMap((list) => userErrors(`status.${list}`, status[list], os)),
    ...allocatedErrors('status.containerStatuses', status.containerStatuses, spec.containers),
    ...allocatedErrors(
      'status.initContainerStatuses',
      status.initContainerStatuses,
      spec.initContainers,
    ),
    ...noAllocatedErrors('status.ephemeralContainerStatuses', status.ephemeralContainerStatuses),
  ]
}

export const validatePodStatusUpdate = (next: KubeObject, previous: KubeObject): FieldError[] => {
  const { status } = next
  const before: Fields = previous.status ?? {}
  return [
    ...annotationChanges(next, previous),
    ...conditionErrors(status.conditions),
    ...nominationErrors(next, before.nominatedNodeName),
    ...negative('status.observedGeneration', status.observedGeneration),
    ...immutable('status.qosClass', status.qosClass, before.qosClass),
    ...stateErrorsOf(next, previous),
    ...claimStatusErrors(next),
    ...extendedClaimErrors(next),
    ...addressErrors('status.podIPs', status.podIPs, before.podIPs),
    ...hostAddressErrors(status),
    ...addressErrors('status.hostIPs', status.hostIPs, before.hostIPs),
    ...containerErrors(next),
  ]
}
