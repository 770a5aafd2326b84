/** metrics.k8s.io/v1beta1 as upstream's metrics-server shows it: objects, lists, tables, discovery. */
import { formatTime } from '#api/clock.js'
import type { PersistedObject } from '#api/object.js'
import { formatQuantity } from '#api/quantity.js'
import type { JsonObject } from '#json/value.js'
import type { Usage } from './usage.js'

export const group = 'metrics.k8s.io'
export const version = 'v1beta1'
const apiVersion = `${group}/${version}`

export type Kind = 'NodeMetrics' | 'PodMetrics'

interface Usages {
  readonly cpu: string
  readonly memory: string
}

const usages = (cpuNano: bigint, memoryBytes: bigint): Usages => ({
  cpu: formatQuantity(cpuNano, 'DecimalSI'),
  memory: formatQuantity(memoryBytes * 1_000_000_000n, 'BinarySI'),
})

/** Go's form of a duration: `15.02s`, `1m0.5s`. */
const durationText = (ms: number): string => {
  if (ms < 1000) return `${ms}ms`
  const minutes = Math.floor(ms / 60_000)
  const seconds = `${(ms % 60_000) / 1000}s`
  const hours = Math.floor(minutes / 60)
  if (hours > 0) return `${hours}h${minutes % 60}m${seconds}`
  return minutes > 0 ? `${minutes}m${seconds}` : seconds
}

const head = (
  kind: Kind,
  { metadata }: PersistedObject,
  { atMs, windowMs }: Usage,
  now: number,
) => {
  const { name, namespace, labels } = metadata
  return {
    kind,
    apiVersion,
    metadata: {
      name: name,
      ...(namespace === undefined ? {} : { namespace }),
      creationTimestamp: formatTime(now),
      ...(labels === undefined ? {} : { labels }),
    },
    timestamp: formatTime(atMs),
    window: durationText(windowMs),
  }
}

/** An object and the usage of all of it. */
export interface Metrics {
  readonly object: ReturnType<typeof head> & JsonObject
  readonly total: Usages
}

export const nodeMetrics = (node: PersistedObject, usage: Usage, now: number): Metrics => {
  const total = usages(usage.cpuNano, usage.memoryBytes)
  return { object: { ...head('NodeMetrics', node, usage, now), usage: { ...total } }, total }
}

const sum = (list: readonly Usage[], of: 'cpuNano' | 'memoryBytes'): bigint =>
  list.reduce((all, usage) => all + usage[of], 0n)

/** `byContainer` is not empty; the Pod's time is that of its oldest figure. */
export const podMetrics = (
  pod: PersistedObject,
  byContainer: ReadonlyMap<string, Usage>,
  now: number,
): Metrics => {
  const all = [...byContainer.values()]
  const oldest = all.reduce((a, b) => (b.atMs < a.atMs ? b : a))
  const containers = [...byContainer].map(([name, { cpuNano, memoryBytes }]) => ({
    name,
    usage: { ...usages(cpuNano, memoryBytes) },
  }))
  return {
    object: { ...head('PodMetrics', pod, oldest, now), containers },
    total: usages(sum(all, 'cpuNano'), sum(all, 'memoryBytes')),
  }
}

export const listOf = (kind: Kind, items: readonly Metrics[]): JsonObject => ({
  kind: `${kind}List`,
  apiVersion,
  metadata: {},
  items: items.map(({ object }) => object),
})

const columns = [
  {
    name: 'Name',
    type: 'string',
    format: 'name',
    description: 'Name of the resource',
    priority: 0,
  },
  { name: 'cpu', type: 'string', format: 'quantity', description: '', priority: 0 },
  { name: 'memory', type: 'string', format: 'quantity', description: '', priority: 0 },
  { name: 'Window', type: 'string', format: 'duration', description: '', priority: 0 },
]

export const tableOf = (items: readonly Metrics[]): JsonObject => ({
  kind: 'Table',
  apiVersion: 'meta.k8s.io/v1',
  metadata: {},
  columnDefinitions: columns,
  rows: items.map(({ object, total: { cpu, memory } }) => ({
    cells: [object.metadata.name, cpu, memory, object.window],
    object: {
      kind: 'PartialObjectMetadata',
      apiVersion: 'meta.k8s.io/v1',
      metadata: object.metadata,
    },
  })),
})

const versionEntry = { groupVersion: apiVersion, version }
const groupEntry = { name: group, versions: [versionEntry], preferredVersion: versionEntry }
const verbs = ['get', 'list']

/** By path. */
export const discoveryDocuments: Readonly<Record<string, JsonObject>> = {
  '/apis': { kind: 'APIGroupList', apiVersion: 'v1', groups: [groupEntry] },
  [`/apis/${group}`]: { kind: 'APIGroup', apiVersion: 'v1', ...groupEntry },
  [`/apis/${apiVersion}`]: {
    kind: 'APIResourceList',
    apiVersion: 'v1',
    groupVersion: apiVersion,
    resources: [
      { name: 'nodes', singularName: '', namespaced: false, kind: 'NodeMetrics', verbs },
      { name: 'pods', singularName: '', namespaced: true, kind: 'PodMetrics', verbs },
    ],
  },
}
