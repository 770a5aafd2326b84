import { matchesNodeSelector } from '#client/node-affinity.js'
import type { ExtendedResourceMapping } from '#client/pod.js'
import { type Allocation, isAllocated, type ResourceClaim } from '#client/resource-claim.js'
import { limits } from '#limits'
import { type Filter, FilterFailure, hopeless, type Refusal } from '../filter.js'
import type { NodeInfo } from '../node-info.js'
import { allocate, type DeviceSupply, InvalidPools } from './allocate.js'
import type { ExtendedClaim } from './extended-claim.js'

/** What a Pod uses. */
interface UsedClaims {
  readonly claims: readonly ResourceClaim[]
  /** Those whose devices will not be ready. */
  readonly stuck: ReadonlySet<ResourceClaim>
  readonly extended: ExtendedClaim | undefined
  /** What was made for its extended resources in an attempt that failed. */
  readonly leftOver: ResourceClaim | undefined
}

/** What is allocated on a node. */
export interface Chosen {
  readonly allocations: ReadonlyMap<ResourceClaim, Allocation>
  /** Of the claim for extended resources: what it asks for there. */
  readonly extended?: { claim: ResourceClaim; mappings: readonly ExtendedResourceMapping[] }
}

/** The first alternative of a request counts most. */
const preferenceFor = ({ spec }: ResourceClaim, { devices }: Allocation): number => {
  const given = new Set((devices.results ?? []).map(({ request }) => request))
  let sum = 0
  for (const { name, firstAvailable = [] } of spec.devices?.requests ?? [])
    for (const [index, alternative] of firstAvailable.entries())
      if (given.has(`${name}/${alternative.name}`)) sum += limits.deviceAlternativesMax - index
  return sum
}

/** Looks at each node once for a decision: what other Pods do there changes nothing for devices. */
export class DeviceFilter implements Filter {
  readonly #used: UsedClaims
  readonly #toAllocate: readonly ResourceClaim[]
  readonly #supply: DeviceSupply
  readonly #refusals = new Map<string, Refusal | undefined>()
  readonly #chosen = new Map<string, Chosen>()
  /** Allocated claims that some node cannot use. */
  readonly unavailable = new Set<ResourceClaim>()

  constructor(used: UsedClaims, supply: DeviceSupply) {
    this.#used = used
    this.#toAllocate = used.claims.filter((claim) => !isAllocated(claim))
    this.#supply = supply
  }

  refuse(info: NodeInfo): Refusal | undefined {
    const { name } = info.node!.metadata
    if (!this.#refusals.has(name)) this.#refusals.set(name, this.#look(info))
    return this.#refusals.get(name)
  }

  #look(info: NodeInfo): Refusal | undefined {
    const { claims, stuck, leftOver } = this.#used
    if (leftOver !== undefined) return hopeless('cannot schedule extended resource claim')
    const node = info.node!
    const elsewhere = claims.filter(
      (claim) =>
        stuck.has(claim) || !matchesNodeSelector(claim.status?.allocation?.nodeSelector, node),
    )
    const refusal = this.#allocate(info)
    if (refusal !== undefined) return refusal
    for (const claim of elsewhere) this.unavailable.add(claim)
    return elsewhere.length > 0 ? hopeless('resourceclaim not available on the node') : undefined
  }

  #allocate(info: NodeInfo): Refusal | undefined {
    const node = info.node!
    const extended = this.#extendedOn(info)
    const asking = extended === undefined ? this.#toAllocate : [...this.#toAllocate, extended.claim]
    if (asking.length === 0) return undefined
    try {
      const found = allocate(asking, node, this.#supply)
      if (found === undefined) return hopeless('cannot allocate all claims')
      const allocations = new Map(asking.map((claim, index) => [claim, found[index]!]))
      this.#chosen.set(node.metadata.name, { allocations, ...(extended && { extended }) })
      return undefined
    } catch (error) {
      if (error instanceof InvalidPools) return hopeless(error.message)
      // Nobody could tell what other nodes would be good for.
      throw new FilterFailure('DynamicResources', error as Error)
    }
  }

  #extendedOn(info: NodeInfo): Chosen['extended'] {
    const { extended } = this.#used
    const asked = extended?.on(info)
    if (extended === undefined || asked === undefined) return undefined
    const claim = { ...extended.claim, spec: { devices: { requests: [...asked.requests] } } }
    return { claim, mappings: asked.mappings }
  }

  chosenOn(node: string): Chosen {
    return this.#chosen.get(node) ?? { allocations: new Map() }
  }

  /** How many first alternatives the node has for the claims. */
  preferenceOn(node: string): number {
    const chosen = this.#chosen.get(node)
    if (chosen === undefined) return 0
    return this.#used.claims.reduce((sum, claim) => {
      const allocation = claim.status?.allocation ?? chosen.allocations.get(claim)
      return allocation === undefined ? sum : sum + preferenceFor(claim, allocation)
    }, 0)
  }
}
