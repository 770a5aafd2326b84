/** The address under which the server makes itself known inside the cluster; upstream's --advertise-address. */
import { machineAddress } from '#net/machine-address.js'
import { bindAddressOf, type ServerOptions } from './options.js'

const isLocal = (address: string): boolean =>
  address.startsWith('127.') || ['0.0.0.0', '::', '::1', 'localhost'].includes(address)

/** The bind address when others can reach it, else that of the machine. */
export const advertiseAddress = (options: ServerOptions): string => {
  const bindAddress = bindAddressOf(options)
  return options.advertiseAddress ?? (isLocal(bindAddress) ? machineAddress() : bindAddress)
}
