/**
 * Node ports. What is stored in Services is the truth; ports of writes under way are held beside it, so that two
 * requests of one server never get the same (kubernetes, pkg/registry/core/service/portallocator).
 */
import { randomInt } from 'node:crypto'
import { internalError } from '#api/errors.js'
import { listAll } from '#registry/list-all.js'
import type { RequestContext } from '#registry/resource-definition.js'
import type { Store } from '#registry/store.js'
import type { ServiceSpec } from './service-spec.js'

/** Both are in it. */
export interface PortRange {
  readonly first: number
  readonly last: number
}

/** Dry runs show ports that nobody can get, by default. */
const dryRunFirst = 32_769

/** The lower band is left to ports that users ask for, as long as the upper one has room. */
const lowerBandOf = (count: number): number =>
  count <= 16 ? 0 : Math.max(16, Math.min(128, Math.floor(count / 32)))

/** Ports of writes under way, by the Services' store. */
const held = new WeakMap<Store, Set<number>>()

/** Every node port that a Service has, the health check's included. */
const nodePortsOf = (spec: ServiceSpec | undefined): number[] =>
  [...(spec?.ports ?? []).map((p) => p.nodePort ?? 0), spec?.healthCheckNodePort ?? 0].filter(
    (port) => port !== 0,
  )

export interface PortReservation {
  /** Undefined when it is held now; else why not. */
  take(port: number): string | undefined
  takeAny(): number
  /** Ends the hold: the write is through, or has failed. */
  release(): void
}

export const reservePorts = async (
  ctx: RequestContext,
  { first, last }: PortRange,
): Promise<PortReservation> => {
  const store = ctx.stores({ group: '', resource: 'services' })
  if (store === undefined) throw internalError('no store of services')
  const { items } = await listAll(store)
  const stored = new Set(items.flatMap((item) => nodePortsOf(item.object.spec)))
  // What a dry run holds is in nobody's way, and what others hold is not in its.
  const others = ctx.dryRun ? new Set<number>() : (held.get(store) ?? new Set<number>())
  if (!ctx.dryRun) held.set(store, others)
  const own = new Set<number>()
  const isFree = (port: number): boolean => !stored.has(port) && !others.has(port) && !own.has(port)
  const hold = (port: number): void => {
    own.add(port)
    others.add(port)
  }
  return {
    take: (port) => {
      // Upstream's dry run asks for no range.
      if (!ctx.dryRun && (port < first || port > last))
        return `provided port is not in the valid range. The range of valid ports is ${first}-${last}`
      if (!isFree(port)) return 'provided port is already allocated'
      hold(port)
      return undefined
    },
    takeAny: () => {
      if (ctx.dryRun) {
        const port = own.size === 0 ? dryRunFirst : Math.max(...own) + 1
        hold(port)
        return port
      }
      const band = lowerBandOf(last - first + 1)
      const upper = last - first - band + 1
      const start = randomInt(upper)
      for (let i = 0; i < upper + band; i++) {
        const port = i < upper ? first + band + ((start + i) % upper) : first + i - upper
        if (!isFree(port)) continue
        hold(port)
        return port
      }
      throw internalError('failed to allocate a nodePort: range is full')
    },
    release: () => {
      for (const port of own) others.delete(port)
    },
  }
}
