/**
 * The order of ports in EndpointSlices and Endpoints: by the hash of what Go prints of a port, as upstream sorts them
 * (portsInOrder of k8s.io/endpointslice, portsByHash of pkg/api/v1/endpoints). Which port comes first is seen. The subsets
 * of Endpoints are ordered likewise.
 */
import type { EndpointPort } from './endpoint.js'

const fnvOffset = 0x6c62272e07bb014262b821756295c58dn
const fnvPrime = 0x1000000000000000000013bn

const fnv128a = (text: string): bigint => {
  let hash = fnvOffset
  for (const byte of Buffer.from(text)) hash = BigInt.asUintN(128, (hash ^ BigInt(byte)) * fnvPrime)
  return hash
}

export const pointer = (type: string, value: string | number | undefined): string =>
  `(*${type})${value ?? '<nil>'}`

const printedOfSlice = ({ name, protocol, port, appProtocol }: EndpointPort): string =>
  `(v1.EndpointPort){Name:${pointer('string', name)} Protocol:${pointer('v1.Protocol', protocol)} Port:${pointer('int32', port)} AppProtocol:${pointer('string', appProtocol)}}`

export const printedPort = ({ name, protocol, port, appProtocol }: EndpointPort): string =>
  `{Name:(string)${name} Port:(int32)${port} Protocol:(v1.Protocol)${protocol} AppProtocol:${pointer('string', appProtocol)}}`

export const byHash = <T>(items: readonly T[], printed: (item: T) => string): T[] => {
  if (items.length < 2) return [...items]
  const hashed = items.map((item) => ({ item, hash: fnv128a(printed(item)) }))
  return hashed.sort((a, b) => (a.hash < b.hash ? -1 : 1)).map(({ item }) => item)
}

export const inSliceOrder = <T extends EndpointPort>(ports: readonly T[]): T[] =>
  byHash(ports, printedOfSlice)
export const inSubsetOrder = <T extends EndpointPort>(ports: readonly T[]): T[] =>
  byHash(ports, (port) => `(v1.EndpointPort)${printedPort(port)}`)
