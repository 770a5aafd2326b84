/** Which node ports one write of a Service gets (kubernetes, pkg/registry/core/service/portallocator). */
import { randomInt } from 'node:crypto'
import { internalError } from '#api/errors.js'
import { listAll } from '#registry/list-all.js'
import type { RequestContext } from '#registry/resource-definition.js'
import type { NodePorts } from './node-ports.js'
import { needsNodePort, type ServiceSpec } from './service-spec.js'

/** Dry runs show ports that nobody can get, by default. */
const dryRunFirst = 32_769

/** The lower band is left to ports that users ask for, as long as the upper one has room. */
const lowerBandOf = (count: number): number =>
  count <= 16 ? 0 : Math.max(16, Math.min(128, Math.floor(count / 32)))

/** Every node port that a Service has, the health check's included. What one without node ports names was not given to it. */
export const nodePortsOf = (spec: ServiceSpec): number[] =>
  needsNodePort(spec)
    ? [...(spec.ports ?? []).map((p) => p.nodePort ?? 0), spec.healthCheckNodePort ?? 0].filter(
        (port) => port !== 0,
      )
    : []

export interface PortReservation {
  /** Undefined when it is held now; else why not. */
  take(port: number): Promise<string | undefined>
  takeAny(): Promise<number>
  /** The write has succeeded: what is stored shows which ports are taken. */
  commit(): void
  /** The write has failed: the ports are free. */
  revert(): Promise<void>
}

const storedPorts = async (ctx: RequestContext): Promise<number[]> => {
  const store = ctx.stores({ group: '', resource: 'services' })
  if (store === undefined) throw internalError('no store of services')
  const { items } = await listAll(store)
  return items.flatMap((item) => nodePortsOf(item.object.spec ?? {}))
}

/** Ports of Services that nobody holds, and held ones that no Service has. */
export const repairPorts = (ports: NodePorts, ctx: RequestContext): Promise<void> =>
  ports.repair(() => storedPorts(ctx))

export const reservePorts = async (
  ctx: RequestContext,
  ports: NodePorts,
): Promise<PortReservation> => {
  const { first, last } = ports.range
  const isWithin = (port: number): boolean => port >= first && port <= last
  const stored = new Set((await storedPorts(ctx)).filter(isWithin))
  // Ports that a dry run holds do not concern others, nor do theirs concern it.
  const others = ctx.dryRun ? new Set<number>() : ports.held
  const own = new Set<number>()
  let highest = 0
  const isFree = (port: number): boolean => !stored.has(port) && !others.has(port) && !own.has(port)
  const letGo = (port: number): void => {
    own.delete(port)
    others.delete(port)
  }
  /** False when a server that shares the store has it. */
  const hold = async (port: number): Promise<boolean> => {
    own.add(port)
    highest = Math.max(highest, port)
    others.add(port)
    if (ctx.dryRun) return true
    let isOurs = false
    try {
      isOurs = await ports.take(port)
    } finally {
      if (!isOurs) letGo(port)
    }
    return isOurs
  }
  return {
    take: async (port) => {
      // Upstream's dry run asks for no range.
      if (!ctx.dryRun && !isWithin(port))
        return `provided port is not in the valid range. The range of valid ports is ${first}-${last}`
      return isFree(port) && (await hold(port)) ? undefined : 'provided port is already allocated'
    },
    takeAny: async () => {
      if (ctx.dryRun) {
        const port = own.size === 0 ? dryRunFirst : highest + 1
        await hold(port)
        return port
      }
      const band = lowerBandOf(last - first + 1)
      const upper = last - first - band + 1
      const start = randomInt(upper)
      for (let i = 0; i < upper + band; i++) {
        const port = i < upper ? first + band + ((start + i) % upper) : first + i - upper
        if (isFree(port) && (await hold(port))) return port
      }
      throw internalError('failed to allocate a nodePort: range is full')
    },
    commit: () => own.forEach(letGo),
    revert: async () => {
      const failed = [...own]
      failed.forEach(letGo)
      if (!ctx.dryRun) await ports.release(failed)
    },
  }
}
