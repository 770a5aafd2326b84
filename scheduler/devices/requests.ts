/** What claims ask for, request by request, each with its alternatives and the classes that they name. */
import type { PersistedObject } from '#api/object.js'
import {
  type DeviceConfiguration,
  type DeviceRequest,
  type DeviceSelector,
  type DevicesAsked,
  isAllocated,
  type ResourceClaim,
} from '#client/resource-claim.js'

export interface DeviceClass extends PersistedObject {
  spec: {
    selectors?: DeviceSelector[]
    config?: DeviceConfiguration[]
    extendedResourceName?: string
  }
}

/** One way to satisfy a request: the request itself, or one of its alternatives. */
export interface Alternative {
  /** Of the result: `request`, or `request/alternative`. */
  readonly name: string
  /** As errors have it: without the request that it is an alternative of. */
  readonly ownName: string
  /** Under which constraints and configuration name it. */
  readonly names: readonly string[]
  readonly asked: DevicesAsked
  readonly deviceClass: DeviceClass
}

const waysOf = ({ name, exactly, firstAvailable = [] }: DeviceRequest) =>
  exactly === undefined
    ? firstAvailable.map((asked) => ({
        name: `${name}/${asked.name}`,
        ownName: asked.name,
        names: [name, `${name}/${asked.name}`],
        asked,
      }))
    : [{ name, ownName: name, names: [name], asked: exactly }]

type ClassOf = (name: string) => DeviceClass | undefined

/** Why the claim can be allocated nowhere, in upstream's words; nothing where that has been done. */
export const requestProblem = (claim: ResourceClaim, classOf: ClassOf): string | undefined => {
  if (isAllocated(claim)) return undefined
  for (const request of claim.spec.devices?.requests ?? []) {
    const ways = waysOf(request)
    if (ways.length === 0)
      return `resource claim ${claim.metadata.namespace}/${claim.metadata.name}, request ${request.name}: unknown request type`
    for (const { name, asked } of ways)
      if (classOf(asked.deviceClassName) === undefined)
        return `request ${name}: device class ${asked.deviceClassName} does not exist`
  }
  return undefined
}

/** The alternatives of each request. Every class is known to be there. */
export const alternativesOf = (claim: ResourceClaim, classOf: ClassOf): Alternative[][] =>
  (claim.spec.devices?.requests ?? []).map((request) =>
    waysOf(request).map((way) => ({ ...way, deviceClass: classOf(way.asked.deviceClassName)! })),
  )
