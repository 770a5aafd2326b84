/** What the API answers to a request of somebody who may ask. */
import type { Clock } from '#api/clock.js'
import { methodNotAllowed, notFound, pathNotFound } from '#api/errors.js'
import type { PersistedObject } from '#api/object.js'
import type { Client, ListOptions } from '#client/client.js'
import { isNotFound } from '#client/errors.js'
import { type ResourceRef, resources } from '#client/resources.js'
import { getOwn } from '#json/object.js'
import type { JsonObject } from '#json/value.js'
import {
  discoveryDocuments,
  group,
  type Kind,
  listOf,
  type Metrics,
  nodeMetrics,
  podMetrics,
  tableOf,
  version,
} from './metrics-objects.js'
import { openApiDocuments } from './openapi-document.js'
import type { UsageStore } from './usage-store.js'

export interface Answering {
  readonly client: Client
  readonly clock: Clock
  readonly store: UsageStore
}

interface Asked {
  readonly method: string
  readonly path: string
  readonly query: URLSearchParams
  readonly accept: string
}

interface Subject {
  readonly kind: Kind
  readonly ref: ResourceRef
  readonly measure: (object: PersistedObject, deps: Answering) => Metrics | undefined
}

const subjects: Readonly<Record<string, Subject>> = {
  nodes: {
    kind: 'NodeMetrics',
    ref: resources.nodes,
    measure: (node, { store, clock }) => {
      const usage = store.node(node.metadata.name)
      return usage && nodeMetrics(node, usage, clock.now())
    },
  },
  pods: {
    kind: 'PodMetrics',
    ref: resources.pods,
    measure: (pod, { store, clock }) => {
      const usages = store.pod(pod.metadata.namespace!, pod.metadata.name)
      return usages && podMetrics(pod, usages, clock.now())
    },
  },
}

const pageLength = 25

/** Names and labels of what is selected come from the API server, which knows every selector. */
const list = async (
  { kind, ref, measure }: Subject,
  namespace: string | undefined,
  { query, accept }: Asked,
  deps: Answering,
): Promise<JsonObject> => {
  const selection: ListOptions = {
    ...(namespace === undefined ? {} : { namespace }),
    labelSelector: query.get('labelSelector') || undefined,
    fieldSelector: query.get('fieldSelector') || undefined,
    limit: pageLength,
    metadataOnly: true,
  }
  const measured: Metrics[] = []
  let next: string | undefined
  do {
    // In pages: all at once would be a megabyte of managed fields for 500 Pods, and 10 MB of memory for good.
    const { items, metadata } = await deps.client.list(ref, { ...selection, continue: next })
    measured.push(...items.flatMap((object) => measure(object, deps) ?? []))
    next = metadata.continue
  } while (next)
  return wantsTable(accept) ? tableOf(measured) : listOf(kind, measured)
}

const get = async (
  { kind, ref, measure }: Subject,
  at: { namespace?: string; name: string },
  { accept }: Asked,
  deps: Answering,
): Promise<JsonObject> => {
  const shown = at.namespace === undefined ? at.name : `${at.namespace}/${at.name}`
  const object = await deps.client.get(ref, at, { metadataOnly: true }).catch((error) => {
    throw isNotFound(error) ? notFound({ group: '', resource: ref.resource }, shown) : error
  })
  const measured = measure(object, deps)
  if (measured === undefined) throw notFound({ group, resource: kind.toLowerCase() }, shown)
  return wantsTable(accept) ? tableOf([measured]) : measured.object
}

const wantsTable = (accept: string): boolean => /^[^,]*;as=Table\b/.test(accept.trim())

const prefix = `/apis/${group}/${version}/`

/** Throws an ApiError for what is no text. */
const decodedPart = (part: string): string => {
  try {
    return decodeURIComponent(part)
  } catch {
    throw pathNotFound()
  }
}

/** Throws an ApiError. */
export const answer = async (asked: Asked, deps: Answering): Promise<JsonObject> => {
  const { method, path } = asked
  const document = discoveryDocuments[path.replace(/(.)\/$/, '$1')] ?? openApiDocuments[path]
  if (document === undefined && !path.startsWith(prefix)) throw pathNotFound()
  if (method !== 'GET') throw methodNotAllowed()
  if (document !== undefined) return document
  const parts = path.slice(prefix.length).split('/').map(decodedPart)
  const [scope, namespace] = parts[0] === 'namespaces' ? parts.splice(0, 2) : []
  const [resource = '', name, ...more] = parts
  const subject = getOwn(subjects, resource)
  const isNamespaced = subject?.ref.namespaced === true
  if (subject === undefined || more.length > 0 || (scope !== undefined && !isNamespaced))
    throw pathNotFound()
  if (name === undefined || name === '') return list(subject, namespace, asked, deps)
  if (isNamespaced && namespace === undefined) throw pathNotFound()
  return get(subject, { ...(namespace === undefined ? {} : { namespace }), name }, asked, deps)
}
