/** The address under which the server makes itself known inside of the cluster; upstream's --advertise-address. */
import { machineAddress } from '#api/machine-address.js'

const isLocal = (address: string): boolean =>
  address.startsWith('127.') || ['0.0.0.0', '::', '::1', 'localhost'].includes(address)

/** The bind address when others can reach it, else that of the machine. */
export const advertiseAddress = (bindAddress: string): string =>
  isLocal(bindAddress) ? machineAddress() : bindAddress
