import { BlockList, isIP } from 'node:net'

const others = new BlockList()
for (const [network, prefix] of [
  ['0.0.0.0', 32],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  ['224.0.0.0', 4],
  ['255.255.255.255', 32],
] as const)
  others.addSubnet(network, prefix, 'ipv4')
for (const [network, prefix] of [
  ['::', 128],
  ['::1', 128],
  ['fe80::', 10],
  ['ff00::', 8],
] as const)
  others.addSubnet(network, prefix, 'ipv6')

/** Go's IP.IsGlobalUnicast: an address of one machine that is no loopback and no link-local one. False for what is no address. */
export const isGlobalUnicast = (address: string): boolean => {
  const version = isIP(address)
  return version !== 0 && !others.check(address, version === 4 ? 'ipv4' : 'ipv6')
}
