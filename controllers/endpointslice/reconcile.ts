/**
 * A Service and its Pods → what has to be written so that its EndpointSlices say so. Slices that are right stay
 * untouched, what changed is changed where it is, new endpoints fill up slices that have room.
 */

import type { NamespacedObject, ObjectMeta, PersistedObject } from '#api/object.js'
import type { Pod } from '#client/pod.js'
import { resources } from '#client/resources.js'
import { addToList } from '#collections/add-to-list.js'
import { jsonEqual } from '#json/object.js'
import { ownerReference } from '../ownership/claim.js'
import {
  type AddressType,
  addressTypeOf,
  addressTypesOf,
  belongsInSlice,
  type Endpoint,
  type EndpointPort,
  endpointOf,
  endpointPorts,
  headlessLabel,
  podIps,
  type Service,
  usesTopology,
} from './endpoint.js'
import { inSliceOrder } from './port-order.js'

export interface EndpointSlice extends NamespacedObject {
  addressType: string
  endpoints: Endpoint[] | null
  ports: EndpointPort[] | null
}
export interface NewSlice {
  [field: string]: unknown
  metadata: ObjectMeta
  addressType: string
  endpoints: Endpoint[]
  ports: EndpointPort[]
}
export interface SliceActions {
  create: NewSlice[]
  update: EndpointSlice[]
  delete: EndpointSlice[]
}
interface SliceObservation {
  service: Service
  pods: readonly Pod[]
  slices: readonly EndpointSlice[]
  node(name: string): PersistedObject | undefined
  /** Endpoints of one slice. */
  endpointsMax: number
}

export const managedBy = 'endpointslice-controller.k8s.io'
export const managedByLabel = 'endpointslice.kubernetes.io/managed-by'
export const serviceNameLabel = 'kubernetes.io/service-name'

/** Endpoints that share an address type and ports, and so may share a slice. */
interface Group {
  addressType: AddressType
  ports: EndpointPort[]
  endpoints: Map<string, Endpoint>
}

/** An endpoint that somebody else has put into a slice names no Pod of ours, and is not kept. */
const endpointKey = ({ targetRef }: Endpoint): string => targetRef?.uid ?? ''
/** The same for endpoints that may share a slice: of one address type, at the same ports. */
export const groupKey = (addressType: string, ports: readonly EndpointPort[] | null): string =>
  `${addressType} ${(ports ?? [])
    .map((p) => `${p.name}/${p.port}/${p.protocol}/${p.appProtocol ?? ''}`)
    .sort()
    .join(' ')}`

const groupPods = ({ service, pods, node }: SliceObservation): Map<string, Group> => {
  const groups = new Map<string, Group>()
  for (const addressType of addressTypesOf(service)) {
    for (const pod of pods.filter(belongsInSlice)) {
      const ports = endpointPorts(service, pod)
      const key = groupKey(addressType, ports)
      const group = groups.get(key) ?? {
        addressType,
        ports: inSliceOrder(ports),
        endpoints: new Map(),
      }
      groups.set(key, group)
      // An empty slice at these ports stays, as upstream's.
      const addresses = podIps(pod).filter((ip) => addressTypeOf(ip) === addressType)
      if (addresses.length === 0) continue
      const endpoint = endpointOf(
        pod,
        service,
        addresses,
        pod.spec.nodeName ? node(pod.spec.nodeName) : undefined,
      )
      group.endpoints.set(endpointKey(endpoint), endpoint)
    }
  }
  return groups
}

/** The Service's own labels, but for those that say what a slice is. */
const sliceLabels = (service: Service): Record<string, string> => {
  const { [headlessLabel]: _theirs, ...own } = service.metadata.labels ?? {}
  return {
    ...own,
    ...(service.spec.clusterIP === 'None' ? { [headlessLabel]: '' } : {}),
    [serviceNameLabel]: service.metadata.name,
    [managedByLabel]: managedBy,
  }
}

const newSlice = (
  service: Service,
  group: Pick<Group, 'addressType' | 'ports'>,
  endpoints: Endpoint[],
): NewSlice => ({
  metadata: {
    generateName: `${service.metadata.name}-`,
    namespace: service.metadata.namespace,
    labels: sliceLabels(service),
    ownerReferences: [ownerReference(resources.services, service)],
  },
  addressType: group.addressType,
  endpoints,
  ports: group.ports,
})

const withLabels = (slice: EndpointSlice, service: Service): EndpointSlice['metadata'] => ({
  ...slice.metadata,
  labels: sliceLabels(service),
})

/** Not so what a Service of the same name has left to the garbage collector. */
const isOwned = ({ metadata }: EndpointSlice, service: Service): boolean =>
  (metadata.ownerReferences ?? []).some(
    ({ apiVersion, kind, uid }) =>
      uid === service.metadata.uid && kind === 'Service' && apiVersion === 'v1',
  )

/** Hints that are made for all endpoints together are compared later. */
const sameEndpoints = (service: Service, { endpoints }: EndpointSlice, wanted: Endpoint[]) => {
  const known = endpoints ?? []
  const compared = usesTopology(service)
    ? known.map(({ hints: _hints, ...endpoint }) => endpoint)
    : known
  return jsonEqual(compared, wanted)
}

interface Kept {
  readonly slice: EndpointSlice
  readonly metadata: EndpointSlice['metadata']
  readonly endpoints: Endpoint[]
  isChanged: boolean
}

/** The one that is closest to full with so many more. */
const tightest = (kept: readonly Kept[], more: number, endpointsMax: number): Kept | undefined => {
  const room = ({ endpoints }: Kept): number => endpointsMax - endpoints.length - more
  return kept.filter((entry) => room(entry) >= 0).sort((a, b) => room(a) - room(b))[0]
}

/**
 * Slices of one group: keeps what is there in place, takes out what went, and fills up with what is new. Those that change
 * anyway are filled first, the fullest of them first; the rest goes into one more, if it has room for all of it.
 */
const reconcileGroup = (
  { service, endpointsMax }: SliceObservation,
  group: Group,
  slices: readonly EndpointSlice[],
  actions: SliceActions,
): void => {
  const missing = new Map(group.endpoints)
  const kept: Kept[] = []
  for (const slice of slices) {
    const endpoints: Endpoint[] = []
    for (const old of slice.endpoints ?? []) {
      const wanted = missing.get(endpointKey(old))
      if (wanted === undefined) continue
      missing.delete(endpointKey(old))
      endpoints.push(wanted)
    }
    const metadata = withLabels(slice, service)
    const isSame = sameEndpoints(service, slice, endpoints)
    if (endpoints.length === 0 && !isSame) actions.delete.push(slice)
    else
      kept.push({
        slice,
        metadata,
        endpoints,
        isChanged: !isSame || !jsonEqual(slice.metadata, metadata),
      })
  }
  const added = [...missing.values()]
  const changing = kept.filter(({ isChanged }) => isChanged)
  for (const { endpoints } of changing.sort((a, b) => b.endpoints.length - a.endpoints.length))
    endpoints.push(...added.splice(0, endpointsMax - endpoints.length))
  while (added.length >= endpointsMax)
    actions.create.push(newSlice(service, group, added.splice(0, endpointsMax)))
  if (added.length > 0) {
    const roomy = tightest(kept, added.length, endpointsMax)
    if (roomy === undefined) actions.create.push(newSlice(service, group, added))
    else {
      roomy.endpoints.push(...added)
      roomy.isChanged = true
    }
  }
  for (const { slice, metadata, endpoints, isChanged } of kept)
    if (isChanged) actions.update.push({ ...slice, metadata, endpoints })
}

/** Each address type has a slice, an empty one when no Pod is there: the Service is known to be looked after. */
const keepPlaceholder = (
  service: Service,
  addressType: AddressType,
  slices: readonly EndpointSlice[],
  actions: SliceActions,
): void => {
  if (actions.create.some((s) => s.addressType === addressType)) return
  const mine = slices.filter((s) => s.addressType === addressType)
  const going = new Set(actions.delete)
  if (mine.some((s) => !going.has(s))) return
  const reused = mine[0]
  if (reused === undefined) {
    actions.create.push(newSlice(service, { addressType, ports: [] }, []))
    return
  }
  actions.delete.splice(actions.delete.indexOf(reused), 1)
  const metadata = withLabels(reused, service)
  const isPlaceholder = (reused.endpoints ?? []).length === 0 && (reused.ports ?? []).length === 0
  if (!isPlaceholder || !jsonEqual(reused.metadata, metadata))
    actions.update.push({ ...reused, metadata, endpoints: [], ports: [] })
}

export const reconcileSlices = (observed: SliceObservation): SliceActions => {
  const { service } = observed
  const slices = observed.slices.filter((slice) => isOwned(slice, service))
  const actions: SliceActions = { create: [], update: [], delete: [] }
  const groups = groupPods(observed)
  const byGroup = new Map<string, EndpointSlice[]>()
  for (const slice of slices) {
    const key = groupKey(slice.addressType, slice.ports)
    addToList(byGroup, key, slice)
  }
  for (const [key, group] of groups)
    reconcileGroup(observed, group, byGroup.get(key) ?? [], actions)
  for (const [key, unused] of byGroup) if (!groups.has(key)) actions.delete.push(...unused)
  for (const addressType of addressTypesOf(service))
    keepPlaceholder(service, addressType, slices, actions)
  const { create, ...written } = reuseDeleted(actions, service)
  const left = observed.slices.filter((slice) => !slices.includes(slice))
  return {
    // What is made while the Service goes would go with it, and hold it up.
    create: service.metadata.deletionTimestamp === undefined ? create : [],
    update: written.update,
    delete: [...written.delete, ...left],
  }
}

/** What would be made takes the place of what would go: readers see one change in place of two. */
const reuseDeleted = (
  { create, update, delete: unused }: SliceActions,
  service: Service,
): SliceActions => {
  const reused: EndpointSlice[] = []
  const left: EndpointSlice[] = []
  for (const slice of unused) {
    const at = create.findIndex((made) => made.addressType === slice.addressType)
    const [made] = at < 0 ? [] : create.splice(at, 1)
    if (made === undefined) left.push(slice)
    else {
      const { endpoints, ports } = made
      reused.push({ ...slice, metadata: withLabels(slice, service), endpoints, ports })
    }
  }
  return { create, update: [...update, ...reused], delete: left }
}
