/**
 * Node ports. What is stored in Services is the truth; ports of writes under way are held beside it, so that two
 * requests of one server never get the same (kubernetes, pkg/registry/core/service/portallocator).
 */
import { randomInt } from 'node:crypto'
import { internalError } from '#api/errors.js'
import { internalContext } from '#registry/internal-context.js'
import type { RequestContext } from '#registry/resource-definition.js'
import type { Store } from '#registry/store.js'
import type { ServiceSpec } from './service-spec.js'

const first = 30_000
const last = 32_767
/** Dry runs show ports that nobody can get. */
const dryRunFirst = last + 2

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

export const reservePorts = async (ctx: RequestContext): Promise<PortReservation> => {
  const store = ctx.stores({ group: '', resource: 'services' })
  if (store === undefined) throw internalError('no store of services')
  const { items } = await store.list(internalContext(ctx), {
    selection: { prefix: `${store.definition.storagePrefix}/` },
    consistency: { kind: 'consistent' },
    limit: 0,
  })
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
      const count = last - first + 1
      const start = randomInt(count)
      for (let i = 0; i < count; i++) {
        const port = first + ((start + i) % count)
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
