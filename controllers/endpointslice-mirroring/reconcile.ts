/**
 * Endpoints that somebody wrote by hand → EndpointSlices that say the same, one for each subset and address family.
 * Pure. Upstream: endpointslicemirroring/reconciler.
 */

import { isIP } from 'node:net'
import { lastAppliedAnnotation } from '#api/last-applied.js'
import type { NamespacedObject, ObjectMeta } from '#api/object.js'
import { resources } from '#client/resources.js'
import { addToList } from '#collections/add-to-list.js'
import { jsonEqual } from '#json/object.js'
import { type EndpointSubset, type Endpoints, isLock } from '../endpoints/reconcile.js'
import { type AddressPort, repackSubsets } from '../endpoints/repack.js'
import { addressTypeOf, type EndpointPort } from '../endpointslice/endpoint.js'
import { inSliceOrder } from '../endpointslice/port-order.js'
import { groupKey, managedByLabel, serviceNameLabel } from '../endpointslice/reconcile.js'
import { triggerTimeAnnotation } from '../endpointslice/trigger-time.js'
import { ownerReference } from '../ownership/claim.js'

export const mirroredBy = 'endpointslicemirroring-controller.k8s.io'

interface MirroredEndpoint {
  addresses: string[]
  conditions: { ready: boolean }
  hostname?: string
  nodeName?: string
  targetRef?: unknown
}
export interface MirroredSlice extends NamespacedObject {
  addressType: string
  endpoints: MirroredEndpoint[] | null
  ports: EndpointPort[] | null
}
interface NewMirroredSlice {
  [field: string]: unknown
  metadata: ObjectMeta
}
export interface MirrorPlan {
  create: NewMirroredSlice[]
  update: MirroredSlice[]
  delete: MirroredSlice[]
  /** Addresses that are not IPs, and those beyond the bound of a subset. */
  invalid: number
  skipped: number
}

const notCopied = [triggerTimeAnnotation, lastAppliedAnnotation]

/** All but locks, and those that ask by a label to be left alone. */
export const isMirrored = (endpoints: Endpoints): boolean =>
  endpoints.metadata.labels?.['endpointslice.kubernetes.io/skip-mirror'] !== 'true' &&
  !isLock(endpoints)

const metadataFor = (endpoints: Endpoints): ObjectMeta => ({
  namespace: endpoints.metadata.namespace,
  labels: {
    ...endpoints.metadata.labels,
    [serviceNameLabel]: endpoints.metadata.name,
    [managedByLabel]: mirroredBy,
  },
  annotations: Object.fromEntries(
    Object.entries(endpoints.metadata.annotations ?? {}).filter(
      ([key]) => !notCopied.includes(key),
    ),
  ),
  ownerReferences: [ownerReference(resources.endpoints, endpoints)],
})

interface Group {
  addressType: string
  ports: EndpointPort[]
  endpoints: MirroredEndpoint[]
}

const slicePorts = (ports: EndpointSubset['ports'] = []): EndpointPort[] =>
  ports.map(({ name = '', port, protocol, appProtocol }) => ({
    name,
    port,
    protocol,
    ...(appProtocol ? { appProtocol } : {}),
  }))

const addressPorts = ({ subsets = [] }: Endpoints): AddressPort[] =>
  subsets.flatMap(({ addresses = [], notReadyAddresses = [], ports }) => {
    const all = slicePorts(ports)
    return [
      ...addresses.map((address) => ({ address, isReady: true })),
      ...notReadyAddresses.map((address) => ({ address, isReady: false })),
    ].flatMap((entry) => (all.length > 0 ? all : [undefined]).map((port) => ({ ...entry, port })))
  })

const groupsOf = (
  endpoints: Endpoints,
  perSubsetMax: number,
): { groups: Map<string, Group>; invalid: number; skipped: number } => {
  const groups = new Map<string, Group>()
  let invalid = 0
  let skipped = 0
  for (const subset of repackSubsets(addressPorts(endpoints))) {
    const ports = inSliceOrder(subset.ports)
    const all = [
      ...subset.ready.map((address) => ({ address, ready: true })),
      ...subset.not.map((address) => ({ address, ready: false })),
    ]
    const valid = all.filter(({ address }) => isIP(address.ip) !== 0)
    invalid += all.length - valid.length
    skipped += Math.max(0, valid.length - perSubsetMax)
    for (const { address, ready } of valid.slice(0, perSubsetMax)) {
      const addressType = addressTypeOf(address.ip)
      const key = groupKey(addressType, ports)
      const group = groups.get(key) ?? { addressType, ports, endpoints: [] }
      groups.set(key, group)
      const { ip, hostname, nodeName, targetRef } = address
      group.endpoints.push({
        addresses: [ip],
        conditions: { ready },
        ...(hostname ? { hostname } : {}),
        ...(targetRef ? { targetRef } : {}),
        ...(nodeName ? { nodeName } : {}),
      })
    }
  }
  return { groups, invalid, skipped }
}

/** Of Endpoints that had the name before: the garbage collector would take it. */
const isLeftBehind = ({ metadata }: MirroredSlice, endpoints: Endpoints): boolean =>
  (metadata.ownerReferences ?? []).some(
    ({ kind, name, uid }) =>
      kind === 'Endpoints' && name === endpoints.metadata.name && uid !== endpoints.metadata.uid,
  )

export const planMirror = (
  endpoints: Endpoints,
  slices: readonly MirroredSlice[],
  perSubsetMax: number,
): MirrorPlan => {
  const { groups, invalid, skipped } = groupsOf(endpoints, perSubsetMax)
  const metadata = metadataFor(endpoints)
  const existing = new Map<string, MirroredSlice[]>()
  for (const slice of slices) addToList(existing, groupKey(slice.addressType, slice.ports), slice)
  const update: MirroredSlice[] = []
  const unused: MirroredSlice[] = []
  const missing: Group[] = []
  const put = (slice: MirroredSlice, group: Group): void => {
    const { name, namespace, uid, resourceVersion } = slice.metadata
    update.push({
      ...slice,
      ...group,
      metadata: { ...metadata, name, namespace, uid, resourceVersion },
    })
  }
  for (const [key, group] of groups) {
    const [slice, ...rest] = existing.get(key) ?? []
    existing.delete(key)
    unused.push(...rest)
    if (slice === undefined) {
      missing.push(group)
      continue
    }
    const isRight =
      jsonEqual(slice.endpoints ?? [], group.endpoints) &&
      jsonEqual(slice.metadata.labels ?? {}, metadata.labels) &&
      jsonEqual(slice.metadata.annotations ?? {}, metadata.annotations) &&
      !isLeftBehind(slice, endpoints)
    if (!isRight) put(slice, group)
  }
  for (const left of existing.values()) unused.push(...left)
  const create: NewMirroredSlice[] = []
  for (const group of missing) {
    // What would be made takes the place of what would go: readers see one change in place of two.
    const at = unused.findIndex(({ addressType }) => addressType === group.addressType)
    const [reused] = at < 0 ? [] : unused.splice(at, 1)
    const generateName = `${endpoints.metadata.name}-`
    if (reused !== undefined) put(reused, group)
    else if (endpoints.metadata.deletionTimestamp === undefined)
      create.push({ metadata: { ...metadata, generateName }, ...group })
  }
  return { create, update, delete: unused, invalid, skipped }
}
