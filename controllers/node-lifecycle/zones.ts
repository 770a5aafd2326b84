/**
 * How fast the Pods of unhealthy nodes are given up, zone by zone: more slowly or not at all if most of a zone is
 * unhealthy, and nowhere if every node is, since then it is more likely that we do not hear them. Pure but for its
 * state; upstream: handleDisruption and RateLimitedTimedQueue of pkg/controller/nodelifecycle.
 */
import { isNodeReady, type Node } from '#client/pod.js'
import { addToList } from '#collections/add-to-list.js'
import type { ControllerSettings } from '../controller.js'

type ZoneState = 'initial' | 'normal' | 'partial disruption' | 'full disruption'
type ZoneRates = Pick<
  ControllerSettings,
  | 'nodeEvictionRate'
  | 'secondaryNodeEvictionRate'
  | 'unhealthyZoneThreshold'
  | 'largeClusterSizeThreshold'
>

/** A zone with this many unhealthy nodes or fewer is never called partially disrupted. */
const fewNodes = 2
const excluded = 'node.kubernetes.io/exclude-disruption'

/** Region and zone of a node, by the labels of today or those of old. */
export const zoneOf = ({ metadata: { labels = {} } }: Node): string => {
  const region =
    labels['topology.kubernetes.io/region'] ?? labels['failure-domain.beta.kubernetes.io/region']
  const zone =
    labels['topology.kubernetes.io/zone'] ?? labels['failure-domain.beta.kubernetes.io/zone']
  return `${region ?? ''}/${zone ?? ''}`
}

/** A bucket of one token. */
class Limiter {
  readonly perSecond: number
  #fullAtMs: number

  constructor(perSecond: number, fullAtMs: number) {
    this.perSecond = perSecond
    this.#fullAtMs = fullAtMs
  }
  isFull(now: number): boolean {
    return this.perSecond > 0 && now >= this.#fullAtMs
  }
  take(now: number): boolean {
    if (!this.isFull(now)) return false
    this.#fullAtMs = now + 1000 / this.perSecond
    return true
  }
}

interface Zone {
  state: ZoneState
  limiter: Limiter
}

export class Zones {
  readonly #rates: ZoneRates
  readonly #zones = new Map<string, Zone>()

  constructor(rates: ZoneRates) {
    this.#rates = rates
  }

  /**
   * Takes in how all nodes are. Says `entered` when none is ready any more, so that nothing may be given up until
   * one is: then it says `left`.
   */
  observe(nodes: readonly Node[], now: number): 'entered' | 'left' | undefined {
    const states = this.#statesOf(nodes)
    const before = [...this.#zones].filter(([zone]) => states.has(zone))
    const wasAll = before.length > 0 && before.every(([, { state }]) => state === 'full disruption')
    const isAll = [...states.values()].every(({ state }) => state === 'full disruption')
    for (const zone of this.#zones.keys()) if (!states.has(zone)) this.#zones.delete(zone)
    for (const [zone, { state, size }] of states) {
      const known = this.#zone(zone, now)
      const mustSwap = isAll !== wasAll || (!isAll && known.state !== state)
      known.state = state
      if (mustSwap) this.#swap(known, isAll ? 0 : this.#rateOf(state, size), now)
    }
    if (states.size === 0 || isAll === wasAll) return undefined
    return isAll ? 'entered' : 'left'
  }

  /** Whether one more node of the zone may be given up now; asking takes its turn. */
  mayEvict(zone: string, now: number): boolean {
    return this.#zone(zone, now).limiter.take(now)
  }

  #zone(name: string, now: number): Zone {
    const known = this.#zones.get(name)
    if (known) return known
    const fresh: Zone = {
      state: 'initial',
      limiter: new Limiter(this.#rates.nodeEvictionRate, now),
    }
    this.#zones.set(name, fresh)
    return fresh
  }

  #statesOf(nodes: readonly Node[]): Map<string, { state: ZoneState; size: number }> {
    const zones = new Map<string, Node[]>()
    for (const node of nodes) {
      if (node.metadata.labels?.[excluded] !== undefined) continue
      addToList(zones, zoneOf(node), node)
    }
    return new Map(
      [...zones].map(([zone, members]) => [
        zone,
        { state: this.#stateOf(members), size: members.length },
      ]),
    )
  }

  #stateOf(members: readonly Node[]): ZoneState {
    const unhealthy = members.filter((node) => !isNodeReady(node)).length
    if (unhealthy === members.length) return 'full disruption'
    const isMost = unhealthy / members.length >= this.#rates.unhealthyZoneThreshold
    return unhealthy > fewNodes && isMost ? 'partial disruption' : 'normal'
  }

  /** A zone that is lost as a whole while others are not goes at the full rate. */
  #rateOf(state: ZoneState, size: number): number {
    const { nodeEvictionRate, secondaryNodeEvictionRate, largeClusterSizeThreshold } = this.#rates
    if (state !== 'partial disruption') return nodeEvictionRate
    return size > largeClusterSizeThreshold ? secondaryNodeEvictionRate : 0
  }

  /** Whoever has just had to wait goes on waiting, at the new rate. */
  #swap(zone: Zone, perSecond: number, now: number): void {
    if (zone.limiter.perSecond === perSecond) return
    const fresh = new Limiter(perSecond, now)
    if (!zone.limiter.take(now)) fresh.take(now)
    zone.limiter = fresh
  }
}
