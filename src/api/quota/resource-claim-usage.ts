/**
 * What a ResourceClaim counts as in quotas: its devices by their class, and as the extended resource that the class
 * stands for (kubernetes, pkg/quota/v1/evaluator/core/resource_claims.go).
 */
import type { Int64 } from '#json/int64.js'
import { controllerRefOf } from '../controller-ref.js'
import { extendedResourceAnnotation, implicitResourcePrefix } from '../extended-resources.js'
import type { KubeObject, OwnerReference } from '../object.js'
import { parseQuantity, quantityValue } from '../quantity.js'
import { podUsage, type Usage } from './pod-usage.js'

/** Other objects, on which this depends: admission finds them in the watch cache, the quota controller in its informers. */
export interface RelatedObjects {
  deviceClasses(): readonly KubeObject[]
  pod(named: { namespace: string; name: string }): KubeObject | undefined
  /** Those claims for extended resources that `madeFor` finds to be made for this Pod. */
  claimsFor(podUid: string): readonly KubeObject[]
}

interface DeviceSubrequest {
  deviceClassName?: string
  allocationMode?: string
  count?: Int64
}
/** As v1 nests it; v1beta1 has what is exactly asked for beside the name. */
interface DeviceRequest extends DeviceSubrequest {
  exactly?: DeviceSubrequest
  firstAvailable?: DeviceSubrequest[]
}

const objectCount = 'count/resourceclaims.resource.k8s.io'
const devicesOfClass = '.deviceclass.resource.k8s.io/devices'
const requestsOf = 'requests.'
/** AllocationResultsMaxSize of resource.k8s.io: what `All` counts as. */
const devicesOfAll = 32n

/** The most that could be allocated, however many are asked for: where a request may choose, its dearest alternative of each class. */
const mostOf = (request: DeviceRequest): Map<string, bigint> => {
  const most = new Map<string, bigint>()
  for (const asked of request.firstAvailable ?? [request.exactly ?? request]) {
    const { deviceClassName = '', allocationMode, count = 0 } = asked
    const devices = allocationMode === 'All' ? devicesOfAll : BigInt(count)
    if (devices > (most.get(deviceClassName) ?? -1n)) most.set(deviceClassName, devices)
  }
  return most
}

const devicesByClass = ({ spec }: KubeObject): Map<string, bigint> => {
  const devices = new Map<string, bigint>()
  for (const request of (spec.devices?.requests ?? []) as DeviceRequest[])
    for (const [name, most] of mostOf(request)) devices.set(name, (devices.get(name) ?? 0n) + most)
  return devices
}

/** The Pod for whose extended resources the scheduler made the claim. */
export const madeFor = (claim: KubeObject): OwnerReference | undefined => {
  if (claim.metadata.annotations?.[extendedResourceAnnotation] !== 'true') return undefined
  const owner = controllerRefOf(claim)
  return owner?.kind === 'Pod' && owner.apiVersion === 'v1' ? owner : undefined
}

/** Whether it was made before all others. One that is just being made was not. */
const isFirst = ({ metadata }: KubeObject, others: readonly KubeObject[]): boolean => {
  if (metadata.resourceVersion === undefined) return others.length === 0
  const [made, name] = [metadata.creationTimestamp!, metadata.name!]
  return others.every(({ metadata: other }) => {
    const [otherMade, otherName] = [other.creationTimestamp!, other.name!]
    return made === otherMade ? name <= otherName : made < otherMade
  })
}

/**
 * What a Pod is charged for already, if the claim is the one that gives the Pod what it asks for. Whoever names a Pod
 * without being named by it must not count for nothing.
 */
const chargedToPod = (claim: KubeObject, now: number, related: RelatedObjects): Usage => {
  const owner = madeFor(claim)
  if (owner === undefined) return {}
  const pod = related.pod({ namespace: claim.metadata.namespace!, name: owner.name })
  if (pod?.metadata.uid !== owner.uid) return {}
  const told = pod.status?.extendedResourceClaimStatus
  const isItsClaim =
    told === undefined
      ? isFirst(claim, related.claimsFor(owner.uid))
      : told.resourceClaimName === claim.metadata.name
  return isItsClaim ? podUsage(pod, now) : {}
}

const amountOf = (text = '0'): bigint => quantityValue(parseQuantity(text))

export const measureClaims = (related: RelatedObjects) => {
  /** Each class stands for a resource named after it, and for the one that it names. */
  const namesOf = (className: string): string[] => {
    const implicit = `${implicitResourcePrefix}${className}`
    const explicit = explicitNames.get(className)
    return explicit === undefined ? [implicit] : [implicit, explicit]
  }
  const explicitNames = new Map<string, string | undefined>(
    related
      .deviceClasses()
      .map(({ metadata, spec }) => [metadata.name!, spec.extendedResourceName]),
  )
  const extendedResources = new Set([...explicitNames.keys()].flatMap(namesOf))
  return {
    measures: (name: string): boolean =>
      name === objectCount ||
      name.endsWith(devicesOfClass) ||
      (name.startsWith(requestsOf) && extendedResources.has(name.slice(requestsOf.length))),
    usage(claim: KubeObject, now: number): Usage {
      const usage: Usage = { [objectCount]: '1' }
      const ofPod = chargedToPod(claim, now, related)
      for (const [className, devices] of devicesByClass(claim)) {
        usage[`${className}${devicesOfClass}`] = String(devices)
        for (const name of namesOf(className).map((resource) => `${requestsOf}${resource}`)) {
          const more = devices - amountOf(ofPod[name])
          if (more > 0n) usage[name] = String(more)
        }
      }
      return usage
    },
  }
}
