/**
 * Extended resources that nodes have as devices (KEP-5004): a DeviceClass names one, and each has one of its own. Upstream:
 * extendedresourcecache, and extendeddynamicresources.go of plugins/dynamicresources.
 */
import { implicitResourcePrefix } from '#api/extended-resources.js'
import { parseMilli } from '#client/amount.js'
import type { Container, ExtendedResourceMapping, Pod } from '#client/pod.js'
import type { DeviceRequest } from '#client/resource-claim.js'
import type { DeviceClass } from './requests.js'

/** Of classes that name the same resource the newest counts, and of equally old ones the first by name. */
const isPreferred = (a: DeviceClass, b: DeviceClass): boolean => {
  const [madeA, madeB] = [a, b].map(({ metadata }) => Date.parse(metadata.creationTimestamp ?? ''))
  return madeA === madeB ? a.metadata.name < b.metadata.name : madeA! > madeB!
}

export const classesByResource = (classes: readonly DeviceClass[]): Map<string, DeviceClass> => {
  const found = new Map<string, DeviceClass>()
  for (const one of classes) {
    found.set(`${implicitResourcePrefix}${one.metadata.name}`, one)
    const name = one.spec.extendedResourceName
    const known = name === undefined ? undefined : found.get(name)
    if (name !== undefined && (known === undefined || isPreferred(one, known))) found.set(name, one)
  }
  return found
}

export interface RequestsForDevices {
  readonly requests: readonly DeviceRequest[]
  readonly mappings: readonly ExtendedResourceMapping[]
}

/** A container of the Pod, init containers first. */
interface Placed {
  readonly container: Container
  readonly index: number
  /** It has ended before those start that come after it. */
  readonly isShortLived: boolean
}

const placedIn = ({ spec }: Pod): Placed[] => {
  const inits = spec.initContainers ?? []
  return [...inits, ...spec.containers].map((container, index) => ({
    container,
    index,
    isShortLived: index < inits.length && container.restartPolicy !== 'Always',
  }))
}

/** What one container asks for of one resource: with which requests, and what of that it needs a request of its own for. */
interface Share {
  readonly index: number
  readonly own?: { readonly name: string; readonly count: number }
  readonly uses: readonly string[]
}

/** `others`: requests whose devices it may use, as those that they are for run later. */
const shareOf = (placed: Placed, resource: string, others: readonly Share[] = []): Share => {
  const { container, index } = placed
  const asked = container.resources?.requests ?? {}
  const milli = Object.hasOwn(asked, resource) ? parseMilli(asked[resource]!) : 0n
  if (milli === 0n || milli % 1000n !== 0n) return { index, uses: [] }
  let missing = Number(milli / 1000n)
  const uses: string[] = []
  for (const { own } of others) {
    if (own === undefined) continue
    missing -= own.count
    uses.push(own.name)
    if (missing <= 0) return { index, uses }
  }
  const name = `container-${index}-request-${Object.keys(asked).sort().indexOf(resource)}`
  return { index, own: { name, count: missing }, uses: [...uses, name] }
}

/** Containers that run one after the other share the largest request that one of them needs for itself. */
const sharesOf = (containers: readonly Placed[], resource: string): Share[] => {
  const stay = containers
    .filter(({ isShortLived }) => !isShortLived)
    .map((placed) => shareOf(placed, resource))
  const shortLived = containers
    .filter(({ isShortLived }) => isShortLived)
    .map((placed) =>
      shareOf(
        placed,
        resource,
        stay.filter(({ index }) => index >= placed.index),
      ),
    )
  const own = shortLived.flatMap((share) => share.own ?? [])
  const largest = own.reduce<Share['own']>(
    (most, one) => (most === undefined || one.count > most.count ? one : most),
    undefined,
  )
  if (largest === undefined) return [...stay, ...shortLived]
  const names = new Set(own.map(({ name }) => name))
  return [
    ...stay,
    ...shortLived.map(({ index, own: mine, uses }) => ({
      index,
      ...(mine === largest ? { own: mine } : {}),
      uses: uses.map((name) => (names.has(name) ? largest.name : name)),
    })),
  ]
}

/** `resources`: those that the node gives as devices. */
export const requestsForDevices = (
  pod: Pod,
  resources: readonly string[],
  classOf: (resource: string) => DeviceClass | undefined,
): RequestsForDevices => {
  const containers = placedIn(pod)
  const requests: DeviceRequest[] = []
  const mappings: ExtendedResourceMapping[] = []
  for (const resourceName of [...resources].sort())
    for (const { index, own, uses } of sharesOf(containers, resourceName)) {
      const containerName = containers[index]!.container.name
      for (const requestName of uses) mappings.push({ containerName, resourceName, requestName })
      if (own === undefined) continue
      const deviceClassName = classOf(resourceName)!.metadata.name
      const exactly = { deviceClassName, allocationMode: 'ExactCount', count: own.count }
      requests.push({ name: own.name, exactly })
    }
  return { requests: requests.sort((a, b) => (a.name < b.name ? -1 : 1)), mappings }
}
