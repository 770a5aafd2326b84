/** Where others find this machine. */
import os from 'node:os'

/** The machine's first address that others could use; loopback when there is no other. */
export const machineAddress = (): string =>
  Object.values(os.networkInterfaces())
    .flatMap((addresses) => addresses ?? [])
    .find(({ family, internal }) => family === 'IPv4' && !internal)?.address ?? '127.0.0.1'
