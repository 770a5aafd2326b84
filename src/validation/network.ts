/** Addresses, ranges and ports as upstream checks them (apimachinery, pkg/util/validation; strict since v1.36). */
import { isIP, isIPv4, isIPv6 } from 'node:net'
import { type FieldError, index, invalid, notSupported } from '#api/field-error.js'
import type { Fields } from '#api/object.js'
import { oncePer } from '#async/once.js'

export type IpFamily = 'IPv4' | 'IPv6'

const ipMessage = 'must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)'
const cidrMessage = 'must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)'

/**
 * `010.1.2.3` as `10.1.2.3` and `00001::1` as `1::1`: the form that older releases read it as; undefined when it is no such
 * address.
 */
export const withoutLeadingZeros = (ip: string): string | undefined => {
  // A group of IPv6 may be four digits long, zeros and all.
  const groups = ip.split(':').map((group) => {
    if (group.includes('.')) return group.replace(/(^|\.)0+(?=\d)/g, '$1')
    return group.length > 4 ? group.replace(/^0+(?=.)/, '') : group
  })
  const plain = groups.join(':')
  return plain !== ip && !ip.includes('%') && isIP(plain) !== 0 ? plain : undefined
}

/** ParseIPSloppy: an address with leading zeros is one, too. */
export const isSloppyIp = (text: string): boolean =>
  !text.includes('%') && isIP(withoutLeadingZeros(text) ?? text) !== 0

export const notAnIp = (path: string, host: string): FieldError[] =>
  isSloppyIp(host) ? [invalid(path, host, 'must be a DNS name, not an IP address')] : []

/** `::ffff:1.2.3.4`, however it is written. */
const isMapped = (ip: string): boolean => isIPv6(ip) && ipToBigInt(ip) >> 32n === 0xffffn

/** As Go prints it: what is mapped as the address of IPv4 that it stands for. */
const canonicalIp = (ip: string): string => {
  const family = familyOf(ip)
  const value = ipToBigInt(ip)
  return isMapped(ip) ? bigIntToIp(value & 0xffffffffn, 'IPv4') : bigIntToIp(value, family)
}

/** ParseIPSloppy and String: an address as Go prints it; undefined for a text that is none. */
export const sloppyIp = (text: string): string | undefined =>
  isSloppyIp(text) ? canonicalIp(withoutLeadingZeros(text) ?? text) : undefined

/** What is wrong with an address, none when all is well. */
export const ipMessages = (ip: string): string[] => {
  if (isIPv4(ip)) return []
  if (ip.includes('%') || isIP(ip) === 0)
    return [withoutLeadingZeros(ip) === undefined ? ipMessage : 'must not have leading 0s']
  return isMapped(ip) ? ['must not be an IPv4-mapped IPv6 address'] : []
}
export const validIp = (path: string, ip: string): FieldError[] =>
  ipMessages(ip).map((message) => invalid(path, ip, message))

/** What is wrong with an address of a field that takes it in one form only (IsValidIP). */
export const canonicalIpMessages = (ip: string): string[] => {
  const malformed = ipMessages(ip)
  if (malformed.length > 0) return malformed
  const canonical = canonicalIp(ip)
  return canonical === ip ? [] : [`must be in canonical form (${JSON.stringify(canonical)})`]
}

/** Why an address that is accepted should be written in another way. Empty for a text that is no address. */
export const ipWarnings = (path: string, text: string): string[] => {
  if (!isSloppyIp(text)) return []
  const ip = withoutLeadingZeros(text) ?? text
  const [shown, canonical] = [JSON.stringify(text), canonicalIp(ip)]
  if (ip !== text || isMapped(ip))
    return [`${path}: non-standard IP address ${shown} is invalid: use "${canonical}"`]
  return canonical === ip
    ? []
    : [`${path}: IPv6 address ${shown} should be in RFC 5952 canonical format ("${canonical}")`]
}

/** A mapped address belongs to IPv4, as Go sees it (net.IP.To4). */
export const familyOf = (ip: string): IpFamily => (isIPv6(ip) && !isMapped(ip) ? 'IPv6' : 'IPv4')

/** The address as a number of 32 or 128 bits. */
export const ipToBigInt = (ip: string): bigint => {
  if (isIPv4(ip)) return BigInt(ip.split('.').reduce((n, part) => n * 256 + Number(part), 0))
  const plain = ip.replace(/(\d+)\.(\d+)\.(\d+)\.(\d+)$/, (_m, a, b, c, d) =>
    [((Number(a) << 8) | Number(b)).toString(16), ((Number(c) << 8) | Number(d)).toString(16)].join(
      ':',
    ),
  )
  const [head = '', tail] = plain.split('::')
  const left = head === '' ? [] : head.split(':')
  const right = tail === undefined || tail === '' ? [] : tail.split(':')
  const zeros = tail === undefined ? [] : Array(8 - left.length - right.length).fill('0')
  return [...left, ...zeros, ...right].reduce((n, part) => (n << 16n) | BigInt(`0x${part}`), 0n)
}

/** RFC 5952: lower case, the longest run of zeros as `::`. */
export const bigIntToIp = (value: bigint, family: IpFamily): string => {
  if (family === 'IPv4')
    return [24n, 16n, 8n, 0n].map((shift) => String((value >> shift) & 255n)).join('.')
  const groups = Array.from({ length: 8 }, (_, i) =>
    ((value >> BigInt(112 - 16 * i)) & 0xffffn).toString(16),
  )
  let best = { start: -1, length: 1 }
  for (let start = 0; start < 8; start++) {
    let length = 0
    while (start + length < 8 && groups[start + length] === '0') length++
    if (length > best.length) best = { start, length }
  }
  if (best.start < 0) return groups.join(':')
  return `${groups.slice(0, best.start).join(':')}::${groups.slice(best.start + best.length).join(':')}`
}

export interface Cidr {
  family: IpFamily
  base: bigint
  /** Of the network. */
  prefixBits: number
  size: bigint
}

/** The network that a CIDR names; undefined when it names none. */
export const parseCidr = (cidr: string): Cidr | undefined => {
  const [ip = '', bits = '', ...rest] = cidr.split('/')
  if (rest.length > 0 || isIP(ip) === 0 || ip.includes('%') || !/^(0|[1-9]\d*)$/.test(bits))
    return undefined
  const family = isIPv6(ip) ? 'IPv6' : 'IPv4'
  const width = family === 'IPv4' ? 32 : 128
  const prefixBits = Number(bits)
  if (prefixBits > width) return undefined
  const size = 1n << BigInt(width - prefixBits)
  return { family, base: (ipToBigInt(ip) / size) * size, prefixBits, size }
}

/** As older releases read it, leading zeros and all. */
export const parseCidrSloppily = (cidr: string): Cidr | undefined => {
  const [ip = '', bits = '', ...rest] = cidr.split('/')
  const plainBits = bits.replace(/^0+(?=\d)/, '')
  return parseCidr([withoutLeadingZeros(ip) ?? ip, plainBits, ...rest].join('/'))
}

const isIn = ({ base, size }: Cidr, value: bigint): boolean => value >= base && value < base + size

export const cidrContains = (cidr: Cidr, ip: string): boolean =>
  familyOf(ip) === cidr.family && isIn(cidr, ipToBigInt(ip))

export const cidrMessages = (text: string): string[] => {
  const cidr = parseCidr(text)
  const [ip = ''] = text.split('/')
  if (cidr === undefined) {
    const onlyZeros = parseCidrSloppily(text) !== undefined
    return [onlyZeros ? 'must not have leading 0s in IP or prefix length' : cidrMessage]
  }
  if (isMapped(ip)) return ['must not have an IPv4-mapped IPv6 address']
  return ipToBigInt(ip) === cidr.base ? [] : ['must not have bits set beyond the prefix length']
}
export const validCidr = (path: string, cidr: string): FieldError[] =>
  cidrMessages(cidr).map((message) => invalid(path, cidr, message))

/** Of the status of Services and Ingresses. */
export const loadBalancerWarnings = (status: Fields | undefined): string[] =>
  ((status?.loadBalancer?.ingress ?? []) as Fields[]).flatMap(({ ip }, i) =>
    ipWarnings(index('status.loadBalancer.ingress', i), ip ?? ''),
  )

const mappedBits = 96

/** Why a range that is accepted should be written in another way. Empty for a text that is no range. */
export const cidrWarnings = (path: string, text: string): string[] => {
  const cidr = parseCidrSloppily(text)
  if (cidr === undefined) return []
  const [given = ''] = text.split('/')
  const ip = withoutLeadingZeros(given) ?? given
  const { base, family, prefixBits } = cidr
  const first = bigIntToIp(base, family)
  const network = `${canonicalIp(first)}/${isMapped(first) ? prefixBits - mappedBits : prefixBits}`
  const shown = JSON.stringify(text)
  const warnings: string[] = []
  if (ipToBigInt(ip) !== base) {
    const alone = `${canonicalIp(ip)}/${family === 'IPv4' ? 32 : 128}`
    warnings.push(
      `${path}: CIDR value ${shown} is ambiguous in this context (should be "${network}" or "${alone}"?)`,
    )
  }
  if (parseCidr(text) === undefined || isMapped(ip))
    warnings.push(`${path}: non-standard CIDR value ${shown} is invalid: use "${network}"`)
  if (warnings.length === 0 && network !== text)
    warnings.push(
      `${path}: IPv6 CIDR value ${shown} should be in RFC 5952 canonical format ("${network}")`,
    )
  return warnings
}

/** An address with the length of its network: bits behind the prefix are allowed (IsValidInterfaceAddress). */
export const interfaceAddressErrors = (path: string, text: string): FieldError[] => {
  const cidr = parseCidrSloppily(text)
  const [given = ''] = text.split('/')
  if (cidr === undefined)
    return [
      invalid(
        path,
        text,
        'must be a valid address in CIDR form, (e.g. 10.9.8.7/24 or 2001:db8::1/64)',
      ),
    ]
  const ip = withoutLeadingZeros(given) ?? given
  const bits = cidr.prefixBits - (isMapped(ip) && cidr.prefixBits > 32 ? mappedBits : 0)
  const canonical = `${canonicalIp(ip)}/${bits}`
  return canonical === text
    ? []
    : [invalid(path, text, `must be in canonical form (${JSON.stringify(canonical)})`)]
}

/** Ranges that mean something on every machine. */
const specialRanges = [
  {
    cidrs: { IPv4: '127.0.0.0/8', IPv6: '::1/128' },
    message: 'may not be in the loopback range (127.0.0.0/8, ::1/128)',
  },
  {
    cidrs: { IPv4: '169.254.0.0/16', IPv6: 'fe80::/10' },
    message: 'may not be in the link-local range (169.254.0.0/16, fe80::/10)',
  },
  {
    cidrs: { IPv4: '224.0.0.0/24', IPv6: 'ff02::/16' },
    message: 'may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)',
  },
]

/** Parsed when an address of their family comes: the first address of IPv6 that Node looks at costs a start 5 ms. */
const specialRangesOf = oncePer((family: IpFamily) =>
  specialRanges.map(({ cidrs, message }) => ({ range: parseCidr(cidrs[family])!, message })),
)

/**
 * Addresses that mean something on every machine can be no endpoint and no external address (core/validation:
 * ValidateEndpointIP, which reads leading zeros as older releases did).
 */
export const nonSpecialIp = (path: string, text: string): FieldError[] => {
  if (!isSloppyIp(text)) return [invalid(path, text, 'must be a valid IP address')]
  // A mapped address is the one of IPv4 that it stands for.
  const ip = canonicalIp(withoutLeadingZeros(text) ?? text)
  const family = familyOf(ip)
  const value = ipToBigInt(ip)
  const found = specialRangesOf(family)
    .filter(({ range }) => isIn(range, value))
    .map(({ message }) => message)
  if (value === 0n) found.unshift(`may not be unspecified (${text})`)
  return found.map((message) => invalid(path, text, message))
}

export const portMessage = 'must be between 1 and 65535, inclusive'
export const isPort = (port: unknown): boolean =>
  typeof port === 'number' && Number.isInteger(port) && port >= 1 && port <= 65535
export const validPort = (path: string, port: unknown): FieldError[] =>
  isPort(port) ? [] : [invalid(path, port, portMessage)]

/** IANA service names: what a port may be called. */
export const portNameMessages = (name: string): string[] => {
  const messages: string[] = []
  if (Buffer.byteLength(name) > 15) messages.push('must be no more than 15 characters')
  if (!/^[-a-z0-9]+$/.test(name))
    messages.push('must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)')
  if (!/[a-z]/.test(name)) messages.push('must contain at least one letter (a-z)')
  if (name.includes('--')) messages.push('must not contain consecutive hyphens')
  if (name.startsWith('-') || name.endsWith('-'))
    messages.push('must not begin or end with a hyphen')
  return messages
}
export const validPortOrName = (path: string, port: unknown): FieldError[] =>
  typeof port === 'string'
    ? portNameMessages(port).map((message) => invalid(path, port, message))
    : validPort(path, port)

export const protocols: readonly string[] = ['SCTP', 'TCP', 'UDP']
export const validProtocol = (path: string, protocol: string): FieldError[] =>
  protocols.includes(protocol) ? [] : [notSupported(path, protocol, protocols)]
