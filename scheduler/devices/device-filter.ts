import { matchesNodeSelector } from '#client/node-affinity.js'
import type { Node } from '#client/pod.js'
import { type Allocation, isAllocated, type ResourceClaim } from '#client/resource-claim.js'
import { type Filter, hopeless, type Refusal } from '../filter.js'
import type { NodeInfo } from '../node-info.js'
import { allocate, type DeviceSupply } from './allocate.js'

/** Looks at each node once for a decision: what other Pods do there changes nothing for devices. */
export class DeviceFilter implements Filter {
  readonly #claims: readonly ResourceClaim[]
  readonly #toAllocate: readonly ResourceClaim[]
  readonly #supply: DeviceSupply
  readonly #refusals = new Map<string, Refusal | undefined>()
  readonly #allocations = new Map<string, readonly Allocation[]>()
  /** Allocated claims that some node cannot use. */
  readonly unavailable = new Set<ResourceClaim>()

  constructor(claims: readonly ResourceClaim[], supply: DeviceSupply) {
    this.#claims = claims
    this.#toAllocate = claims.filter((claim) => !isAllocated(claim))
    this.#supply = supply
  }

  refuse({ node }: NodeInfo): Refusal | undefined {
    const { name } = node!.metadata
    if (!this.#refusals.has(name)) this.#refusals.set(name, this.#look(node!))
    return this.#refusals.get(name)
  }

  #look(node: Node): Refusal | undefined {
    const elsewhere = this.#claims.filter(
      ({ status }) => !matchesNodeSelector(status?.allocation?.nodeSelector, node),
    )
    if (this.#toAllocate.length > 0) {
      try {
        const allocations = allocate(this.#toAllocate, node, this.#supply)
        if (allocations === undefined) return hopeless('cannot allocate all claims')
        this.#allocations.set(node.metadata.name, allocations)
      } catch (error) {
        return hopeless((error as Error).message)
      }
    }
    for (const claim of elsewhere) this.unavailable.add(claim)
    return elsewhere.length > 0 ? hopeless('resourceclaim not available on the node') : undefined
  }

  /** What was chosen on the node for each claim that has nothing yet. */
  chosenOn(node: string): Map<ResourceClaim, Allocation> {
    const allocations = this.#allocations.get(node) ?? []
    return new Map(this.#toAllocate.map((claim, index) => [claim, allocations[index]!]))
  }
}
