import { isIP } from 'node:net'

/** An address of a socket; IPv4 that came over IPv6 is shown as IPv4. */
export const plainAddress = (address = ''): string =>
  address.startsWith('::ffff:') && isIP(address.slice(7)) === 4 ? address.slice(7) : address
