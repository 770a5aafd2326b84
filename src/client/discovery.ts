/** What the server serves, from the aggregated discovery documents. */
import { groupOf } from '#api/group-version.js'
import type { Client } from './client.js'
import type { ResourceRef } from './resources.js'

export interface DiscoveredResource extends ResourceRef {
  verbs: readonly string[]
}
export interface ServedResource extends DiscoveredResource {
  /** `pod` beside `pods`. */
  singular: string
}
export interface Discovered<T = DiscoveredResource> {
  resources: T[]
  /** Group versions that could not be asked: `metrics.k8s.io/v1beta1`. */
  stale: string[]
}

interface Document {
  items: {
    metadata: { name?: string }
    versions: {
      version: string
      freshness?: string
      resources?: {
        resource: string
        singularResource?: string
        responseKind?: { kind: string }
        scope: string
        verbs: string[]
      }[]
    }[]
  }[]
}

const accept =
  'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json'

/** Each resource in each of its versions, the preferred one first. */
export const discoverVersions = async (client: Client): Promise<Discovered<ServedResource>> => {
  const documents = await Promise.all(
    ['/api', '/apis'].map((path) => client.request<Document>({ method: 'GET', path, accept })),
  )
  const found: ServedResource[] = []
  const stale: string[] = []
  for (const item of documents.flatMap((d) => d.items)) {
    const group = item.metadata.name ?? ''
    for (const { version, freshness, resources = [] } of item.versions) {
      if (freshness === 'Stale') stale.push(`${group}/${version}`)
      for (const r of resources)
        found.push({
          group,
          version,
          resource: r.resource,
          singular: r.singularResource ?? '',
          kind: r.responseKind?.kind ?? '',
          namespaced: r.scope === 'Namespaced',
          verbs: r.verbs,
        })
    }
  }
  return { resources: found, stale }
}

/** Each resource in the first (preferred) of its versions that has it. */
export const discover = async (client: Client): Promise<Discovered> => {
  const { resources, stale } = await discoverVersions(client)
  const first = new Map<string, DiscoveredResource>()
  for (const found of resources) {
    const key = `${found.group}/${found.resource}`
    if (!first.has(key)) first.set(key, found)
  }
  return { resources: [...first.values()], stale }
}

/** As long as upstream's RESTMapper. */
const believedMs = 30_000
const believed = new WeakMap<Client, { atMs: number; found: Discovered }>()

/** The same as some seconds ago, if that is enough: for those who ask at every event. */
export const discoverUnlessKnown = async (
  client: Client,
  isEnough: (found: Discovered) => boolean,
  forMs = believedMs,
): Promise<Discovered> => {
  const known = believed.get(client)
  const isFresh =
    known !== undefined && performance.now() - known.atMs < Math.min(forMs, believedMs)
  if (isFresh && isEnough(known.found)) return known.found
  const found = await discover(client)
  believed.set(client, { atMs: performance.now(), found })
  return found
}

/**
 * The resource of a kind, in the preferred version of its group. If the server has none it throws, with the message of
 * upstream's RESTMapper.
 */
export const discoverKind = async (
  client: Client,
  { apiVersion, kind }: { apiVersion: string; kind: string },
  asked: 'group' | 'version' = 'group',
): Promise<DiscoveredResource> => {
  const group = groupOf(apiVersion)
  const find = ({ resources }: Discovered): DiscoveredResource | undefined =>
    resources.find((r) => r.group === group && r.kind === kind)
  const found = find(await discoverUnlessKnown(client, (known) => find(known) !== undefined))
  if (found !== undefined) return found
  const where = asked === 'group' ? group : apiVersion
  throw new Error(`no matches for kind "${kind}" in ${asked} "${where}"`)
}
