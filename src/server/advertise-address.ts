/** The address under which the server makes itself known inside of the cluster; upstream's --advertise-address. */
import { networkInterfaces } from 'node:os'

const isLocal = (address: string): boolean =>
  address.startsWith('127.') || ['0.0.0.0', '::', '::1', 'localhost'].includes(address)

/** The bind address when others can reach it, else the first IPv4 address of the machine that is not loopback. */
export const advertiseAddress = (bindAddress: string): string => {
  if (!isLocal(bindAddress)) return bindAddress
  const found = Object.values(networkInterfaces())
    .flatMap((addresses) => addresses ?? [])
    .find((address) => address.family === 'IPv4' && !address.internal)
  return found?.address ?? '127.0.0.1'
}
