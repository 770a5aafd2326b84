/** The claim that the scheduler makes for those extended resources of a Pod that its node has as devices. */
import { randomUUID } from 'node:crypto'
import { extendedResourceAnnotation } from '#api/extended-resources.js'
import type { Pod } from '#client/pod.js'
import { podRequests } from '#client/pod-requests.js'
import { isMadeFor, type ResourceClaim } from '#client/resource-claim.js'
import type { NodeInfo } from '../node-info.js'
import { type RequestsForDevices, requestsForDevices } from './extended-resources.js'
import type { DeviceClass } from './requests.js'

type ClassOf = (resource: string) => DeviceClass | undefined

export const findExtendedClaim = (
  pod: Pod,
  claims: readonly ResourceClaim[],
): ResourceClaim | undefined =>
  claims.find(
    (claim) =>
      claim.metadata.annotations?.[extendedResourceAnnotation] === 'true' && isMadeFor(claim, pod),
  )

/** Not in the API yet, where this is no name. */
const newClaim = ({ metadata }: Pod): ResourceClaim => {
  const { name, namespace, uid } = metadata
  return {
    kind: 'ResourceClaim',
    apiVersion: 'resource.k8s.io/v1',
    metadata: {
      name: '<extended-resources>',
      namespace,
      // Stands for it until it has a real one.
      uid: randomUUID(),
      resourceVersion: '',
      generateName: `${name}-extended-resources-`,
      annotations: { [extendedResourceAnnotation]: 'true' },
      ownerReferences: [{ apiVersion: 'v1', kind: 'Pod', name, uid, controller: true }],
    },
    spec: {},
  }
}

export class ExtendedClaim {
  readonly claim: ResourceClaim
  readonly #pod: Pod
  readonly #resources: readonly string[]
  readonly #classOf: ClassOf

  private constructor(pod: Pod, resources: readonly string[], classOf: ClassOf) {
    this.#pod = pod
    this.#resources = resources
    this.#classOf = classOf
    this.claim = newClaim(pod)
  }

  /** Undefined where no node could have what the Pod asks for as devices. */
  static for(pod: Pod, classOf: ClassOf): ExtendedClaim | undefined {
    const resources = [...podRequests(pod)].flatMap(([name, milli]) =>
      milli > 0n && classOf(name) !== undefined ? name : [],
    )
    return resources.length === 0 ? undefined : new ExtendedClaim(pod, resources, classOf)
  }

  /** Undefined where device plugins of the node provide it all. */
  on({ allocatable }: NodeInfo): RequestsForDevices | undefined {
    const asDevices = this.#resources.filter((name) => (allocatable.get(name) ?? 0n) === 0n)
    return asDevices.length === 0
      ? undefined
      : requestsForDevices(this.#pod, asDevices, this.#classOf)
  }
}
