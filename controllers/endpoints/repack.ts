/**
 * Addresses and the ports that they have → subsets in upstream's form (kubernetes, pkg/api/v1/endpoints RepackSubsets): ports
 * that the same addresses have share a subset, and subsets are ordered by the hash of what Go prints of them. Pure.
 */
import { compareTexts } from '#go/compare-texts.js'
import type { EndpointPort, TargetRef } from '../endpointslice/endpoint.js'
import { byHash, inSubsetOrder, pointer, printedPort } from '../endpointslice/port-order.js'

export interface EndpointAddress {
  ip: string
  hostname?: string
  nodeName?: string
  targetRef?: TargetRef
}

/** Says that the address has the port; without one, that it is there. */
export interface AddressPort {
  readonly address: EndpointAddress
  readonly isReady: boolean
  readonly port: EndpointPort | undefined
}

export interface Subset {
  readonly ready: EndpointAddress[]
  readonly not: EndpointAddress[]
  readonly ports: EndpointPort[]
}

interface Member {
  readonly address: EndpointAddress
  isReady: boolean
}

const printedAddress = ({
  ip,
  hostname = '',
  nodeName = '',
  targetRef,
}: EndpointAddress): string => {
  const { kind, namespace, name, uid } = targetRef ?? {}
  const target = `Kind:(string)${kind} Namespace:(string)${namespace} Name:(string)${name} UID:(types.UID)${uid} APIVersion:(string) ResourceVersion:(string) FieldPath:(string)`
  return `{IP:(string)${ip} Hostname:(string)${hostname} NodeName:${pointer('string', nodeName)} TargetRef:(*v1.ObjectReference){${target}}}`
}
const printedList = (type: string, items: readonly string[]): string =>
  `([]v1.${type})${items.length === 0 ? '<nil>' : `[${items.join(' ')}]`}`
const printedSubset = ({ ready, not, ports }: Subset): string => {
  const [addresses, others] = [ready, not].map((list) =>
    printedList('EndpointAddress', list.map(printedAddress)),
  )
  const shown = printedList('EndpointPort', ports.map(printedPort))
  return `(v1.EndpointSubset){Addresses:${addresses} NotReadyAddresses:${others} Ports:${shown}}`
}

const uidOf = ({ targetRef }: EndpointAddress): string => targetRef?.uid ?? ''
const byAddress = ({ address: a }: Member, { address: b }: Member): number =>
  compareTexts(a.ip, b.ip) || compareTexts(uidOf(a), uidOf(b))

/** Who has each port, each once: not ready, if that is said anywhere. */
const membersByPort = (
  entries: readonly AddressPort[],
): { port: EndpointPort | undefined; members: Member[] }[] => {
  const found = new Map<string, { port: EndpointPort | undefined; members: Map<string, Member> }>()
  for (const { address, isReady, port } of entries) {
    const portKey = JSON.stringify(port ?? null)
    const known = found.get(portKey) ?? { port, members: new Map() }
    found.set(portKey, known)
    const key = `${address.ip} ${uidOf(address)}`
    const member = known.members.get(key)
    if (member === undefined) known.members.set(key, { address, isReady })
    else member.isReady &&= isReady
  }
  return [...found.values()].map(({ port, members }) => ({
    port,
    members: [...members.values()].sort(byAddress),
  }))
}

export const repackSubsets = (entries: readonly AddressPort[]): Subset[] => {
  const subsets = new Map<string, Subset>()
  for (const { port, members } of membersByPort(entries)) {
    const key = members.map(({ address, isReady }) => [address.ip, uidOf(address), isReady]).join()
    const those = (wanted: boolean): EndpointAddress[] =>
      members.filter(({ isReady }) => isReady === wanted).map(({ address }) => address)
    const subset = subsets.get(key) ?? { ready: those(true), not: those(false), ports: [] }
    subsets.set(key, subset)
    if (port !== undefined) subset.ports.push(port)
  }
  const sorted = [...subsets.values()].map((subset) => ({
    ...subset,
    ports: inSubsetOrder(subset.ports),
  }))
  return byHash(sorted, printedSubset)
}
