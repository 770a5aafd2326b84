/** The ranges of cluster IPs and node ports, from kube-apiserver's flags. */
import { goQuote } from '#go/quote.js'
import type { PortRange } from '#kinds/core/node-ports.js'
import {
  bigIntToIp,
  type Cidr,
  familyOf,
  type IpFamily,
  parseCidrSloppily,
} from '#validation/network.js'
import { advertiseAddress } from './advertise-address.js'
import { type ServerOptions, serviceClusterIpRangeOf } from './options.js'

/** Upstream needs one address for the Service `kubernetes`, and some for others. */
const addressesMin = 8n

/** One range, or one of each family. Throws an Error with kube-apiserver's text. */
const readRanges = (text: string): [Cidr, ...Cidr[]] => {
  const [first = '', second, ...more] = text.split(',').map((part) => part.trim())
  const primary = parseCidrSloppily(first)
  if (primary === undefined) throw new Error('service-cluster-ip-range is not an ip net')
  if (primary.size < addressesMin)
    throw new Error(
      'error determining service IP ranges for primary service cidr: the service cluster IP range must be at least 8 IP addresses',
    )
  if (second === undefined) return [primary]
  const secondary = parseCidrSloppily(second)
  if (secondary === undefined) throw new Error('service-cluster-ip-range[1] is not an ip net')
  if (more.length > 0)
    throw new Error('--service-cluster-ip-range must not contain more than two entries')
  if (secondary.family === primary.family)
    throw new Error(
      '--service-cluster-ip-range[0] and --service-cluster-ip-range[1] must be of different IP family',
    )
  return [primary, secondary]
}

/** `10.0.0.0/24,fd00::/112` → its two ranges, as Go prints them. Throws an Error. */
export const serviceCidrsOf = (range: string): string[] =>
  readRanges(range).map(
    ({ base, family, prefixBits }) => `${bigIntToIp(base, family)}/${prefixBits}`,
  )

/** The default family comes first. Throws an Error. */
export const serviceFamiliesOf = (range: string): IpFamily[] =>
  readRanges(range).map(({ family }) => family)

/** The address that the `kubernetes` Service gets: the first of the service range. `10.0.0.0/24` → `10.0.0.1`. Throws an Error. */
export const firstServiceAddress = (range: string): string => {
  const [{ base, family }] = readRanges(range)
  return bigIntToIp(base + 1n, family)
}

const lastPort = 65_535

/** `30000-32767`, `30000+2767` or `30000`; undefined for none. Throws an Error. */
export const parsePortRange = (text: string): PortRange => {
  const given = text.trim()
  const [, low = '', sign, high] = /^([^-+]*)(?:([-+])(.*))?$/s.exec(given)!
  const numberOf = (part: string): number => {
    if (!/^[-+]?\d+$/.test(part))
      throw new Error(`strconv.Atoi: parsing ${goQuote(part)}: invalid syntax`)
    return Number(part)
  }
  const first = numberOf(low)
  const last = sign === undefined ? first : numberOf(high!) + (sign === '+' ? first : 0)
  if (first > lastPort || last > lastPort)
    throw new Error(`the port range cannot be greater than 65535: ${given}`)
  if (last < first) throw new Error(`end port cannot be less than start port: ${given}`)
  return { first, last }
}

export const nodePortRangeOf = ({
  serviceNodePortRange = '30000-32767',
}: ServerOptions): PortRange => parsePortRange(serviceNodePortRange)

/** Checks what the endpoints of the Service `kubernetes` depend on. Throws an Error in kube-apiserver's words. */
export const checkServiceOptions = (options: ServerOptions): void => {
  const [primary] = readRanges(serviceClusterIpRangeOf(options))
  const { first, last } = nodePortRangeOf(options)
  const { kubernetesServiceNodePort: port = 0 } = options
  if (port > 0 && (port < first || port > last))
    throw new Error(`kubernetes service node port range ${first}-${last} doesn't contain ${port}`)
  const own = advertiseAddress(options)
  if (options.endpointReconcilerType !== 'none' && familyOf(own) !== primary.family)
    throw new Error(
      `service IP family "${bigIntToIp(primary.base, primary.family)}/${primary.prefixBits}" must match public address family "${own}"`,
    )
}
