/**
 * Decides what the Endpoints and the EndpointSlice of the Service `kubernetes` say
 * (kubernetes, pkg/controlplane/reconcilers: lease.go, instancecount.go, endpointsadapter.go).
 */
import { isIPv6 } from 'node:net'
import { jsonEqual } from '#json/object.js'
import type { JsonObject } from '#json/value.js'

interface EndpointAddress {
  readonly ip: string
}

interface EndpointPort {
  readonly name: string
  readonly port: number
  readonly protocol: string
}

export interface EndpointSubset {
  readonly addresses?: readonly EndpointAddress[]
  readonly notReadyAddresses?: readonly EndpointAddress[]
  readonly ports?: readonly EndpointPort[]
}

interface ReconcilePorts {
  readonly port: number
  /** Whether wrong ports are corrected, too. */
  readonly reconcilePorts: boolean
}

/** From the addresses that are there to those that should be. */
export type ReconcileAddresses = (ips: readonly string[]) => readonly string[]

const httpsPort = (port: number): EndpointPort => ({ name: 'https', port, protocol: 'TCP' })

/** In byte order, without duplicates. */
const sorted = (ips: readonly string[]): string[] => [...new Set(ips)].sort()

/** Exactly the servers that are alive. */
export const liveAddresses =
  (live: readonly string[]): ReconcileAddresses =>
  () =>
    sorted(live)

/** The server's own address and up to `count` in all: those that follow it in order make room. */
export const countedAddresses =
  (own: string, count: number): ReconcileAddresses =>
  (ips) => {
    const all = sorted([...ips, own])
    const at = all.indexOf(own)
    const leaving = [...all.slice(at + 1), ...all.slice(0, at)].slice(0, all.length - count)
    return all.filter((ip) => !leaving.includes(ip))
  }

export const withoutAddress =
  (own: string): ReconcileAddresses =>
  (ips) =>
    ips.filter((ip) => ip !== own)

const haveSameMembers = (a: readonly string[], b: readonly string[]): boolean =>
  jsonEqual([...a].sort(), [...b].sort())

/** Builds the subset anew unless there is exactly one. Yields the same array if nothing has to change. */
export const reconcileSubsets = (
  subsets: readonly EndpointSubset[],
  reconcile: ReconcileAddresses,
  { port, reconcilePorts }: ReconcilePorts,
): readonly EndpointSubset[] => {
  const [only] = subsets.length === 1 ? subsets : []
  const ips = (only?.addresses ?? []).map(({ ip }) => ip)
  const wanted = reconcile(ips)
  const ports = [httpsPort(port)]
  const isRightPort = only !== undefined && (!reconcilePorts || jsonEqual(only.ports, ports))
  const isRight = isRightPort && haveSameMembers(ips, wanted)
  if (isRight) return subsets
  const addresses = wanted.map((ip) => ({ ip }))
  const next = { ...only, addresses, ports: isRightPort ? only.ports : ports }
  return addresses.length === 0 && !only?.notReadyAddresses?.length ? [] : [next]
}

/** Has one address family, as upstream's; addresses of the other are left out. */
export const sliceFor = ([subset = {}]: readonly EndpointSubset[]): JsonObject => {
  const { addresses = [], notReadyAddresses = [], ports } = subset
  const all = [...addresses, ...notReadyAddresses]
  const isV6 = all.length > 0 && all.every(({ ip }) => isIPv6(ip))
  const endpointsOf = (some: readonly EndpointAddress[], ready: boolean) =>
    some
      .filter(({ ip }) => isIPv6(ip) === isV6)
      .map(({ ip }) => ({ addresses: [ip], conditions: { ready } }))
  const endpoints = [...endpointsOf(addresses, true), ...endpointsOf(notReadyAddresses, false)]
  return {
    addressType: isV6 ? 'IPv6' : 'IPv4',
    endpoints: subset.addresses === undefined ? null : endpoints,
    ports: ports?.map(({ name, port, protocol }) => ({ name, protocol, port })) ?? null,
  }
}
