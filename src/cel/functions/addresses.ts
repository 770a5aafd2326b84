/** IP addresses and networks (apiserver, pkg/cel/library/ip.go and cidr.go; Go's net/netip). */

import { type IpAddress as Address, parseAddress } from '#go/ip-address.js'
import { goQuote } from '#go/quote.js'
import { parseInt64 } from '#json/int64.js'
import { isGlobalUnicast } from '#net/global-unicast.js'
import type { Implementations } from '../evaluation.js'
import { CelError, KubernetesValue, noSuchOverload } from '../values.js'

const widthOf = (family: Address['family']): number => (family === 4 ? 32 : 128)

class Ip extends KubernetesValue {
  readonly typeName = 'net.IP'
  readonly address: Address
  constructor(address: Address) {
    super()
    this.address = address
  }
  equals(other: this): boolean {
    return this.address.family === other.address.family && this.address.bits === other.address.bits
  }
  override get size(): number {
    return widthOf(this.address.family) / 8
  }
}

class Cidr extends KubernetesValue {
  readonly typeName = 'net.CIDR'
  readonly address: Address
  readonly length: number
  constructor(address: Address, length: number) {
    super()
    this.address = address
    this.length = length
  }
  equals(other: this): boolean {
    return (
      this.length === other.length &&
      this.address.family === other.address.family &&
      this.address.bits === other.address.bits
    )
  }
  override get size(): number {
    return Math.ceil(this.length / 8)
  }
}

const is4In6 = ({ family, bits }: Address): boolean => family === 6 && bits >> 32n === 0xffffn

const toIp = (text: string): Ip => {
  const shown = goQuote(text)
  let parsed: ReturnType<typeof parseAddress>
  try {
    parsed = parseAddress(text)
  } catch (error) {
    const why = (error as Error).message
    throw new CelError(`IP Address ${shown} parse error during conversion from string: ${why}`)
  }
  if (parsed.zone !== '') throw new CelError(`IP address ${shown} with zone value is not allowed`)
  if (is4In6(parsed.address)) throw new CelError(`IPv4-mapped IPv6 address ${shown} is not allowed`)
  return new Ip(parsed.address)
}

const prefixError = (text: string, why: string): never => {
  const said = `netip.ParsePrefix(${goQuote(text)}): ${why}`
  throw new CelError(`network address parse error during conversion from string: ${said}`)
}

const parsePrefix = (text: string): Cidr => {
  const slash = text.lastIndexOf('/')
  if (slash < 0) prefixError(text, "no '/'")
  let parsed: ReturnType<typeof parseAddress>
  try {
    parsed = parseAddress(text.slice(0, slash))
  } catch (error) {
    return prefixError(text, (error as Error).message)
  }
  if (parsed.zone !== '') prefixError(text, 'IPv6 zones cannot be present in a prefix')
  const digits = text.slice(slash + 1)
  // strconv.Atoi reads no more than an int.
  if (!/^(?:0|[1-9]\d*)$/.test(digits) || parseInt64(digits) === undefined)
    prefixError(text, `bad bits after slash: ${goQuote(digits)}`)
  if (Number(digits) > widthOf(parsed.address.family))
    prefixError(text, 'prefix length out of range')
  if (is4In6(parsed.address))
    throw new CelError(`IPv4-mapped IPv6 address ${goQuote(text)} is not allowed`)
  return new Cidr(parsed.address, Number(digits))
}

const toCidr = (text: string): Cidr => {
  try {
    return parsePrefix(text)
  } catch (error) {
    const why = (error as Error).message
    throw new CelError(`network address parse error during conversion from string: ${why}`)
  }
}

const parses = (read: () => unknown): boolean => {
  try {
    read()
    return true
  } catch {
    return false
  }
}

const print4 = (bits: bigint): string =>
  [24n, 16n, 8n, 0n].map((shift) => (bits >> shift) & 0xffn).join('.')

const print6 = (bits: bigint): string => {
  const groups = Array.from({ length: 8 }, (_none, i) =>
    ((bits >> BigInt(112 - 16 * i)) & 0xffffn).toString(16),
  )
  // The first of the longest runs of two or more zeros is left out.
  const runs = [
    ...groups
      .map((g) => (g === '0' ? '0' : '1'))
      .join('')
      .matchAll(/00+/g),
  ]
  const longest = runs.reduce<RegExpMatchArray | undefined>(
    (best, run) => (best === undefined || run[0].length > best[0].length ? run : best),
    undefined,
  )
  if (longest === undefined) return groups.join(':')
  const start = longest.index!
  const end = start + longest[0].length
  return `${groups.slice(0, start).join(':')}::${groups.slice(end).join(':')}`
}

const print = ({ family, bits }: Address): string => (family === 4 ? print4(bits) : print6(bits))

/** The bits of the network, the rest cut off. */
const network = ({ family, bits }: Address, length: number): bigint => {
  const host = BigInt(widthOf(family) - length)
  return (bits >> host) << host
}

const contains = (cidr: Cidr, { address }: Ip): boolean =>
  address.family === cidr.address.family &&
  network(address, cidr.length) === network(cidr.address, cidr.length)

const containsCidr = (outer: Cidr, inner: Cidr): boolean =>
  outer.length <= inner.length && contains(outer, new Ip(inner.address))

const inRange = ({ family, bits }: Address, of4: string, of6: string): boolean => {
  const range = parsePrefix(family === 4 ? of4 : of6)
  return network({ family, bits }, range.length) === network(range.address, range.length)
}
const isLoopback = ({ address }: Ip): boolean => inRange(address, '127.0.0.0/8', '::1/128')
const isUnspecified = ({ address }: Ip): boolean => address.bits === 0n
const isLinkLocal = ({ address }: Ip): boolean => inRange(address, '169.254.0.0/16', 'fe80::/10')

export const addressFunctions: Implementations = {
  string_to_ip: toIp,
  is_ip: (text: string) => parses(() => toIp(text)),
  ip_to_string: ({ address }: Ip) => print(address),
  ip_family: ({ address }: Ip) => BigInt(address.family),
  ip_is_canonical: (text: string) => print(toIp(text).address) === text,
  ip_is_unspecified: isUnspecified,
  ip_is_loopback: isLoopback,
  ip_is_link_local_multicast: ({ address }: Ip) => inRange(address, '224.0.0.0/24', 'ff02::/16'),
  ip_is_link_local_unicast: isLinkLocal,
  ip_is_global_unicast: ({ address }: Ip) => isGlobalUnicast(print(address)),
  string_to_cidr: toCidr,
  is_cidr: (text: string) => parses(() => parsePrefix(text)),
  cidr_to_string: ({ address, length }: Cidr) => `${print(address)}/${length}`,
  cidr_contains_ip_string: (cidr: Cidr, text: string) => {
    // Upstream forgets why the text is no address.
    if (!parses(() => toIp(text))) throw noSuchOverload()
    return contains(cidr, toIp(text))
  },
  cidr_contains_ip_ip: contains,
  cidr_contains_cidr_string: (cidr: Cidr, text: string) => containsCidr(cidr, toCidr(text)),
  cidr_contains_cidr: containsCidr,
  cidr_ip: ({ address }: Cidr) => new Ip(address),
  cidr_prefix_length: ({ length }: Cidr) => BigInt(length),
  cidr_masked: ({ address, length }: Cidr) =>
    new Cidr({ family: address.family, bits: network(address, length) }, length),
}
