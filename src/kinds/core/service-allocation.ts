/** What a Service is given: families, addresses, ports (kubernetes, pkg/registry/core/service/storage/alloc.go). */
import { ApiError, failure, internalError, invalid as invalidObject } from '#api/errors.js'
import { child, type FieldError, index, invalid } from '#api/field-error.js'
import type { KubeObject } from '#api/object.js'
import { internalContext } from '#registry/internal-context.js'
import type { RequestContext, Reservation, Strategy } from '#registry/resource-definition.js'
import type { IpFamily } from '#validation/network.js'
import type { NodePorts } from './node-ports.js'
import { readRanges, releaseAddress, takeAddress, takeAnyAddress } from './service-address-pool.js'
import { dropOfExternalName, inheritAllocated, normalizeClusterIps } from './service-defaults.js'
import { completeFamilies, initFamilies } from './service-families.js'
import { nodePortsOf, type PortReservation, reservePorts } from './service-port-pool.js'
import {
  givesNodePorts,
  needsHealthCheck,
  needsNodePort,
  type ServicePort,
  type ServiceSpec,
} from './service-spec.js'

/** What all Services share. */
interface ServicePools {
  readonly nodePorts: NodePorts
  /** Those of the ranges that the server was started with, whatever ServiceCIDRs there are since. The default one comes first. */
  readonly families: readonly IpFamily[]
}

const refuse = (service: KubeObject, errors: FieldError[]): never => {
  throw invalidObject({ group: '', kind: 'Service' }, service.metadata.name ?? '', errors)
}

const ownerOf = (service: KubeObject, ctx: RequestContext) => ({
  namespace: ctx.namespace ?? '',
  name: service.metadata.name ?? '',
})

/** Takes what clusterIPs names, from the `first` on, and fills in what ipFamilies asks for; yields the addresses taken. */
const allocateIps = async (
  service: KubeObject,
  ctx: RequestContext,
  first: number,
): Promise<string[]> => {
  const spec: ServiceSpec = service.spec
  const families = spec.ipFamilies ?? []
  const asked = families.map((_, i) => spec.clusterIPs?.[i] ?? '')
  const refuseAsked = (why: string): never =>
    refuse(service, [invalid('spec.clusterIPs', asked, `failed to allocate IP${why}`)])
  const owner = ownerOf(service, ctx)
  const ranges = await readRanges(ctx)
  const taken: string[] = []
  try {
    for (const [i, ip] of asked.entries()) {
      if (i < first) continue
      if (ip === '') {
        const any = takeAnyAddress(ctx, ranges, families[i]!, owner)
        taken.push(
          await any.catch((error: unknown) => {
            if (!(error instanceof ApiError) || error.code !== 422) throw error
            return refuseAsked(`: ${error.message}`)
          }),
        )
      } else {
        const why = await takeAddress(ctx, ranges, ip, owner)
        if (why !== undefined) refuseAsked(` ${ip}: ${why}`)
        taken.push(ip)
      }
    }
  } catch (error) {
    await giveBack(service, ctx, taken)
    throw error
  }
  spec.clusterIPs = [...asked.slice(0, first), ...taken]
  if (spec.clusterIPs[0] !== undefined) spec.clusterIP = spec.clusterIPs[0]
  return taken
}

/**
 * The Service is written or gone by then, and upstream does not tell its client either: what cannot be given back now is
 * found by a repair (service-repair.ts, node-ports.ts).
 */
const orRepaired = (release: Promise<void>): Promise<void> => release.catch(() => {})

const giveBack = async (
  service: KubeObject,
  ctx: RequestContext,
  ips: readonly string[],
): Promise<void> => {
  if (ctx.dryRun) return
  for (const ip of ips) await orRepaired(releaseAddress(ctx, ip, ownerOf(service, ctx)))
}

const takePort = async (
  service: KubeObject,
  { path, port, pool }: { path: string; port: number; pool: PortReservation },
): Promise<void> => {
  const why = await pool.take(port)
  if (why !== undefined) refuse(service, [invalid(path, port, why)])
}

/** On create, ports with one number for several protocols share their node port. */
const allocateNewPorts = async (service: KubeObject, pool: PortReservation): Promise<void> => {
  const spec: ServiceSpec = service.spec
  const ports: ServicePort[] = spec.ports ?? []
  const byPort = new Map<number, number>()
  const askedFor = new Map<number, number>()
  for (const { port, nodePort } of ports)
    if (nodePort && !askedFor.has(port)) askedFor.set(port, nodePort)
  for (const [i, port] of ports.entries()) {
    if (!port.nodePort && !givesNodePorts(spec)) continue
    const path = child(index('spec.ports', i), 'nodePort')
    const shared = byPort.get(port.port)
    if (shared === undefined) {
      const asked = askedFor.get(port.port)
      if (asked !== undefined) await takePort(service, { path, port: asked, pool })
      port.nodePort = asked ?? (await pool.takeAny())
      byPort.set(port.port, port.nodePort)
    } else if (!port.nodePort) port.nodePort = shared
    else if (port.nodePort !== shared) await takePort(service, { path, port: port.nodePort, pool })
  }
}

const allocateChangedPorts = async (
  service: KubeObject,
  previous: ServiceSpec,
  pool: PortReservation,
): Promise<void> => {
  const spec: ServiceSpec = service.spec
  const before = new Set(
    needsNodePort(previous) ? (previous.ports ?? []).map((p) => p.nodePort ?? 0) : [],
  )
  const got = new Set<number>()
  const given = new Set<string>()
  for (const [i, port] of (spec.ports ?? []).entries()) {
    if (port.nodePort) {
      if (!before.has(port.nodePort) && !got.has(port.nodePort)) {
        const path = child(index('spec.ports', i), 'nodePort')
        await takePort(service, { path, port: port.nodePort, pool })
        got.add(port.nodePort)
      }
    } else if (givesNodePorts(spec)) {
      port.nodePort = await pool.takeAny()
      got.add(port.nodePort)
    } else continue
    // Upstream returns this as a plain error: a 500 with only a message.
    const printed = `{${port.protocol} ${port.nodePort}}`
    if (given.has(printed)) throw failure({ code: 500, message: `duplicate nodePort: ${printed}` })
    given.add(printed)
  }
}

const allocateHealthCheckPort = async (
  service: KubeObject,
  previous: ServiceSpec | undefined,
  pool: PortReservation,
): Promise<void> => {
  const spec: ServiceSpec = service.spec
  // One that has such a port keeps it; validation refuses another.
  if (!needsHealthCheck(spec) || (previous !== undefined && needsHealthCheck(previous))) return
  const port = spec.healthCheckNodePort ?? 0
  if (port === 0) {
    spec.healthCheckNodePort = await pool.takeAny()
    return
  }
  // What is wrong with this port upstream does not tell of at its field.
  const why = await pool.take(port)
  if (why !== undefined)
    throw internalError(`failed to allocate requested HealthCheck NodePort ${port}: ${why}`)
}

interface Taken {
  /** Gives back the ports, and what was allocated before them. */
  revert(): Promise<void>
  commit(): void
}

/** Ports as `allocate` takes them, where the Service needs any; with `taken`, its addresses, when it fails. */
const allocatePorts = async (
  service: KubeObject,
  ctx: RequestContext,
  taken: readonly string[],
  { ports, allocate }: { ports: NodePorts; allocate: (pool: PortReservation) => Promise<void> },
): Promise<Taken> => {
  let pool: PortReservation | undefined
  const revert = async (): Promise<void> => {
    if (pool !== undefined) await orRepaired(pool.revert())
    await giveBack(service, ctx, taken)
  }
  try {
    if (needsNodePort(service.spec)) {
      pool = await reservePorts(ctx, ports)
      await allocate(pool)
    }
  } catch (error) {
    await revert()
    throw error
  }
  return { revert, commit: () => pool?.commit() }
}

const beginServiceCreate = async (
  service: KubeObject,
  ctx: RequestContext,
  { nodePorts: ports, families }: ServicePools,
): Promise<Reservation> => {
  const spec: ServiceSpec = service.spec
  normalizeClusterIps(spec)
  if (spec.type !== 'ExternalName') {
    const errors = initFamilies(spec, families)
    if (errors.length > 0) refuse(service, errors)
  }
  const wantsIps = spec.type !== 'ExternalName' && spec.clusterIPs?.[0] !== 'None'
  const taken = wantsIps ? await allocateIps(service, ctx, 0) : []
  const allocate = async (pool: PortReservation): Promise<void> => {
    await allocateNewPorts(service, pool)
    await allocateHealthCheckPort(service, undefined, pool)
  }
  return allocatePorts(service, ctx, taken, { ports, allocate })
}

/** Addresses that the update leaves behind. */
const abandonedIps = (spec: ServiceSpec, previous: ServiceSpec): string[] => {
  const had = previous.type === 'ExternalName' ? [] : (previous.clusterIPs ?? [])
  if (had[0] === 'None') return []
  const keeps = spec.type === 'ExternalName' ? [] : (spec.clusterIPs ?? [])
  return had.filter((ip) => !keeps.includes(ip))
}

const allocateChangedIps = async (
  service: KubeObject,
  before: ServiceSpec,
  ctx: RequestContext,
  families: readonly IpFamily[],
): Promise<string[]> => {
  const spec: ServiceSpec = service.spec
  if (spec.type === 'ExternalName') return []
  const errors = initFamilies(spec, families, before)
  if (errors.length > 0) refuse(service, errors)
  if (spec.clusterIPs?.[0] === 'None') return []
  if (before.type === 'ExternalName') return allocateIps(service, ctx, 0)
  if (before.clusterIPs?.[0] === 'None') return []
  // The addresses that it has are for life: others are for validation to refuse. Only a second family is given one. (A
  // Service that was made by way of its status has neither, and is given none later.)
  const isUpgraded = before.ipFamilies?.length === 1 && spec.ipFamilies?.length === 2
  return isUpgraded ? allocateIps(service, ctx, 1) : []
}

const beginServiceUpdate = async (
  service: KubeObject,
  previous: KubeObject,
  ctx: RequestContext,
  { nodePorts: ports, families }: ServicePools,
): Promise<Reservation | undefined> => {
  if (ctx.subresource !== '') return undefined
  const spec: ServiceSpec = service.spec
  const before: ServiceSpec = previous.spec
  inheritAllocated(spec, before)
  normalizeClusterIps(spec, before)
  const taken = await allocateChangedIps(service, before, ctx, families)
  const allocate = async (pool: PortReservation): Promise<void> => {
    if (needsNodePort(spec)) await allocateChangedPorts(service, before, pool)
    await allocateHealthCheckPort(service, before, pool)
  }
  const { revert, commit } = await allocatePorts(service, ctx, taken, { ports, allocate })
  return {
    revert,
    commit: async () => {
      commit()
      await giveBack(previous, ctx, abandonedIps(spec, before))
      // Ports that the type may not have were dropped after they had been taken.
      const kept = nodePortsOf(spec)
      const left = nodePortsOf(before).filter((port) => !kept.includes(port))
      await orRepaired(ports.release(left))
    },
  }
}

/** A Service that is made anew under the name would begin with them. Slices are left to their controller. */
const deleteEndpoints = async (
  { metadata: { namespace, name = '' } }: KubeObject,
  ctx: RequestContext,
): Promise<void> => {
  await ctx
    .stores({ group: '', resource: 'endpoints' })
    ?.delete(internalContext(ctx, namespace), name, {})
}

const releaseService = async (
  service: KubeObject,
  ctx: RequestContext,
  ports: NodePorts,
): Promise<void> => {
  const spec: ServiceSpec = service.spec
  // Most Services have none any more when they go, and the controller of those that are left deletes them.
  await deleteEndpoints(service, ctx).catch(() => {})
  await orRepaired(ports.release(nodePortsOf(spec)))
  if (spec.type === 'ExternalName' || spec.clusterIPs?.[0] === 'None') return
  const namespaced = { ...ctx, namespace: service.metadata.namespace }
  await giveBack(service, namespaced, spec.clusterIPs ?? [])
}

/** The hooks of a strategy. */
export const serviceAllocation = (
  pools: ServicePools,
): Required<Pick<Strategy, 'beginCreate' | 'beginUpdate' | 'afterDelete' | 'completeStored'>> => ({
  beginCreate: (service, ctx) => beginServiceCreate(service, ctx, pools),
  beginUpdate: (service, previous, ctx) => beginServiceUpdate(service, previous, ctx, pools),
  afterDelete: (service, ctx) => releaseService(service, ctx, pools.nodePorts),
  completeStored: ({ spec }) => {
    normalizeClusterIps(spec)
    completeFamilies(spec, pools.families[0] ?? 'IPv4')
    dropOfExternalName(spec)
  },
})
