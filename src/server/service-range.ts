/** The address that the `kubernetes` Service gets: the first of the service range. */
import { isIPv4 } from 'node:net'

/** `10.0.0.0/24` → `10.0.0.1`. Throws an Error that names a range that is none. */
export const firstServiceAddress = (range: string): string => {
  const [address = '', size] = range.split(',')[0]!.trim().split('/')
  const bits = Number(size)
  if (isIPv4(address) && Number.isInteger(bits) && bits >= 8 && bits <= 30) {
    const [a = 0, b = 0, c = 0, d = 0] = address.split('.').map(Number)
    const number = ((a << 24) | (b << 16) | (c << 8) | d) >>> 0
    const first = ((number & (0xffffffff << (32 - bits))) >>> 0) + 1
    return [first >>> 24, (first >>> 16) & 255, (first >>> 8) & 255, first & 255].join('.')
  }
  if (address.endsWith('::') && Number.isInteger(bits) && bits >= 64 && bits <= 126)
    return `${address}1`
  throw new Error(
    `service cluster IP range ${JSON.stringify(range)} is no CIDR with room for Services`,
  )
}
