/**
 * Cluster addresses: one IPAddress object each, made by a create that only one writer can win, so that neither
 * concurrent requests nor several servers nor a crash can give an address twice (kubernetes, pkg/registry/core/service/
 * ipallocator). The ranges are the ServiceCIDR objects.
 */
import { randomInt } from 'node:crypto'
import { conditionOf } from '#api/conditions.js'
import { ApiError, internalError } from '#api/errors.js'
import type { KubeObject } from '#api/object.js'
import { goQuote } from '#go/quote.js'
import { limits } from '#limits'
import { internalContext } from '#registry/internal-context.js'
import { listAll } from '#registry/list-all.js'
import type { RequestContext } from '#registry/resource-definition.js'
import type { Store } from '#registry/store.js'
import {
  bigIntToIp,
  type Cidr,
  cidrContains,
  familyOf,
  type IpFamily,
  ipToBigInt,
  parseCidr,
} from '#validation/network.js'

const networking = 'networking.k8s.io'
/** crypto.randomInt takes at most 48 bits. */
const randomRange = 2n ** 47n

const storeOf = (ctx: RequestContext, resource: string): Store => {
  const store = ctx.stores({ group: networking, resource })
  if (store === undefined) throw internalError(`no store of ${resource}`)
  return store
}

interface Range {
  readonly text: string
  readonly cidr: Cidr
}

/** One that ends or is not ready gives no addresses. Without its controller nothing is said of it. */
const isUsed = (range: KubeObject): boolean =>
  range.metadata.deletionTimestamp === undefined &&
  (conditionOf(range, 'Ready')?.status ?? 'True') === 'True'

/** In the order in which new addresses are taken from them: those of the default ServiceCIDR come first. */
export const readRanges = async (ctx: RequestContext): Promise<Range[]> => {
  const { items } = await listAll(storeOf(ctx, 'servicecidrs'), undefined, { kind: 'any' })
  const isDefault = (o: KubeObject): boolean => o.metadata.name === 'kubernetes'
  return items
    .map((item) => item.object)
    .filter(isUsed)
    .sort((a, b) => Number(isDefault(b)) - Number(isDefault(a)))
    .flatMap((o): string[] => o.spec?.cidrs ?? [])
    .flatMap((text) => {
      const cidr = parseCidr(text)
      return cidr === undefined ? [] : [{ text, cidr }]
    })
}

/** IPv4 networks keep their first and last address to themselves, IPv6 ones their first. */
const usableOf = ({ family, base, size }: Cidr): { first: bigint; count: bigint } =>
  size <= 2n
    ? { first: base, count: size }
    : { first: base + 1n, count: size - (family === 'IPv4' ? 2n : 1n) }

const isUsable = (cidr: Cidr, ip: string): boolean => {
  const { first, count } = usableOf(cidr)
  const value = ipToBigInt(ip)
  return value >= first && value < first + count
}

/** `FD00::01` → `fd00::1`: the name of its IPAddress. */
export const canonicalIp = (ip: string): string => bigIntToIp(ipToBigInt(ip), familyOf(ip))

interface Owner {
  readonly namespace: string
  readonly name: string
}

const addressObject = (ip: string, { namespace, name }: Owner): KubeObject => ({
  kind: 'IPAddress',
  apiVersion: `${networking}/v1`,
  metadata: {
    name: ip,
    labels: {
      'ipaddress.kubernetes.io/ip-family': familyOf(ip),
      'ipaddress.kubernetes.io/managed-by': 'ipallocator.k8s.io',
    },
  },
  spec: { parentRef: { resource: 'services', namespace, name } },
})

/** False if another Service has the address. */
const take = async (ctx: RequestContext, ip: string, owner: Owner): Promise<boolean> => {
  try {
    await storeOf(ctx, 'ipaddresses').create(internalContext(ctx), addressObject(ip, owner))
    return true
  } catch (error) {
    if (error instanceof ApiError && error.reason === 'AlreadyExists') return false
    throw error
  }
}

/** Takes the requested address; yields why that is impossible, if it is. */
export const takeAddress = async (
  ctx: RequestContext,
  ranges: readonly Range[],
  ip: string,
  owner: Owner,
): Promise<string | undefined> => {
  const family = familyOf(ip)
  const inRange = ranges.some(({ cidr }) => cidrContains(cidr, ip) && isUsable(cidr, ip))
  if (!inRange)
    return ctx.dryRun
      ? `the provided IP (${ip}) is not in the valid range. The range of valid IPs is ${ranges.find(({ cidr }) => cidr.family === family)?.text}`
      : 'the provided network does not match the current range'
  // A dry run does not ask whether it is free.
  if (ctx.dryRun) return undefined
  try {
    const got = await take(ctx, canonicalIp(ip), owner)
    return got ? undefined : 'provided IP is already allocated'
  } catch (error) {
    // A Service without a name cannot own an address.
    if (error instanceof ApiError && error.code === 422) return error.message
    throw error
  }
}

/** The lower band is left to addresses that users ask for, as long as the upper one has room. */
const lowerBandOf = (count: bigint): bigint => {
  const sixteenth = count / 16n
  const band = sixteenth < 16n ? 16n : sixteenth > 256n ? 256n : sixteenth
  return band < count ? band : 0n
}

const randomBelow = (n: bigint): bigint =>
  BigInt(randomInt(Number(n < randomRange ? n : randomRange)))

const takeFrom = async (
  ctx: RequestContext,
  cidr: Cidr,
  owner: Owner,
): Promise<string | undefined> => {
  const { first, count } = usableOf(cidr)
  const band = lowerBandOf(count)
  const ipAt = (offset: bigint): string => bigIntToIp(first + offset, cidr.family)
  for (let i = 0; i < limits.randomAddressTriesMax; i++) {
    const ip = ipAt(band + randomBelow(count - band))
    if (await take(ctx, ip, owner)) return ip
  }
  // A range this full is looked through in order, starting behind the lower band.
  const { items } = await listAll(storeOf(ctx, 'ipaddresses'))
  const taken = new Set(items.map((item) => item.object.metadata.name))
  for (let i = 0n; i < count && i < limits.searchedAddressesMax; i++) {
    const ip = ipAt((band + i) % count)
    if (!taken.has(ip) && (await take(ctx, ip, owner))) return ip
  }
  return undefined
}

/** A free address of the family. A dry run gets the network's own, which is never given out. */
export const takeAnyAddress = async (
  ctx: RequestContext,
  ranges: readonly Range[],
  family: IpFamily,
  owner: Owner,
): Promise<string> => {
  for (const { cidr } of ranges) {
    if (cidr.family !== family) continue
    if (ctx.dryRun) return bigIntToIp(cidr.base, family)
    const ip = await takeFrom(ctx, cidr, owner)
    if (ip !== undefined) return ip
  }
  throw internalError(
    `failed to allocate a serviceIP for Service ${goQuote(owner.name)}: range is full`,
  )
}

/** Gives an address back, unless it has been given to another Service since. */
export const releaseAddress = async (
  ctx: RequestContext,
  ip: string,
  owner: Owner,
): Promise<void> => {
  const store = storeOf(ctx, 'ipaddresses')
  const own = internalContext(ctx)
  const name = canonicalIp(ip)
  try {
    const { object } = await store.get(own, name)
    const parent = object.spec?.parentRef
    if (parent?.namespace !== owner.namespace || parent?.name !== owner.name) return
    await store.delete(own, name, {
      preconditions: { uid: object.metadata.uid ?? '' },
    })
  } catch (error) {
    if (!(error instanceof ApiError) || (error.code !== 404 && error.code !== 409)) throw error
  }
}
