/** Reads the discovery documents of the server behind an APIService. Upstream: kube-aggregator, handler_discovery.go. */
import type { JsonObject } from '#json/value.js'
import { unmarshal } from '#registry/decode-configuration.js'
import { type APIService, pathOf } from './api-service.js'
import { aggregatorUser } from './availability.js'
import type { Backends, Document } from './backends.js'

const v2 = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList'
/** Upstream asks for these without any group; RBAC lets every authenticated user discover. */
const reader = { name: 'system:kube-aggregator', groups: [] }

interface LegacyResource {
  readonly name: string
  readonly singularName?: string
  readonly namespaced?: boolean
  readonly group?: string
  readonly version?: string
  readonly kind?: string
  readonly verbs?: string[]
  readonly shortNames?: string[]
  readonly categories?: string[]
}

const responseKind = ({ group = '', version = '', kind = '' }: Partial<LegacyResource>) => ({
  group,
  version,
  kind,
})

const lists = ({ shortNames = [], categories = [] }: Partial<LegacyResource>) => ({
  ...(shortNames.length > 0 ? { shortNames } : {}),
  ...(categories.length > 0 ? { categories } : {}),
})

type Discovered = {
  readonly resource: string
  readonly scope: string
  subresources?: JsonObject[]
} & JsonObject

const scopeOf = ({ namespaced }: LegacyResource) => (namespaced ? 'Namespaced' : 'Cluster')

/** An APIResourceList in the form of aggregated discovery. Upstream: ConvertGroupVersionIntoToDiscovery. */
const resourcesOfLegacy = (list: readonly LegacyResource[]): JsonObject[] => {
  const resources = list
    .filter(({ name }) => !name.includes('/'))
    .map(
      (entry): Discovered => ({
        resource: entry.name,
        responseKind: responseKind(entry),
        scope: scopeOf(entry),
        singularResource: entry.singularName ?? '',
        verbs: entry.verbs ?? [],
        ...lists(entry),
      }),
    )
  const byName = new Map(resources.map((resource) => [resource.resource, resource]))
  for (const entry of list) {
    const slash = entry.name.indexOf('/')
    if (slash < 0) continue
    const name = entry.name.slice(0, slash)
    const subresource = entry.name.slice(slash + 1)
    const scope = scopeOf(entry)
    let parent = byName.get(name)
    if (parent === undefined) {
      parent = {
        resource: name,
        responseKind: responseKind({}),
        scope,
        singularResource: '',
        verbs: [],
      }
      byName.set(name, parent)
      resources.push(parent)
    }
    if (parent.scope !== scope)
      throw new Error(
        `Error: Parent ${name} (scope: ${parent.scope}) and subresource ${subresource} (scope: ${scope}) scope do not match`,
      )
    parent.subresources ??= []
    parent.subresources.push({
      subresource,
      responseKind: responseKind(entry.kind ? entry : {}),
      verbs: entry.verbs ?? [],
    })
  }
  return resources
}

interface Parsed {
  readonly metadata?: { readonly name?: string }
  readonly versions?: readonly { readonly version: string; readonly resources?: JsonObject[] }[]
}

const resourcesOfAggregated = (
  { text }: Document,
  { group = '', version }: APIService['spec'],
): JsonObject[] => {
  const { items } = unmarshal(JSON.parse(text), 'apidiscovery.v2.APIGroupDiscoveryList')
  const groups = (items ?? []) as readonly Parsed[]
  const found = groups
    .find(({ metadata }) => (metadata?.name ?? '') === group)
    ?.versions?.find((one) => one.version === version)
  return (found?.resources ?? []).map((resource) => ({
    ...resource,
    // Clients of v0.26 end when it is missing.
    responseKind: responseKind((resource.responseKind ?? {}) as Partial<LegacyResource>),
  }))
}

const isAggregated = ({ type }: Document): boolean =>
  type.includes('g=apidiscovery.k8s.io') && type.includes('as=APIGroupDiscoveryList')

/** The resources of its group version, as aggregated discovery shows them. Rejects when they cannot be had. */
export const readDiscovery = async (
  backends: Backends,
  service: APIService,
): Promise<JsonObject[]> => {
  const all = await backends.fetch(await backends.destination(service, '/apis'), {
    user: aggregatorUser,
    accept: v2,
  })
  if (all.code === 503) throw new Error(`non-success response code: ${all.code}`)
  if (all.code === 200 && isAggregated(all)) return resourcesOfAggregated(all, service.spec)
  const path = pathOf(service)
  const one = await backends.fetch(await backends.destination(service, path), {
    user: reader,
    accept: 'application/json',
  })
  if (one.code !== 200)
    throw new Error(`failed to download legacy discovery for ${path}: ${one.code}`)
  const { resources } = unmarshal(JSON.parse(one.text), 'meta.APIResourceList')
  return resourcesOfLegacy((resources ?? []) as unknown as LegacyResource[])
}

/** Documents of its OpenAPI index: from `apis/metrics.k8s.io/v1beta1` to where that is served. None where it has no index. */
export const readOpenApiIndex = async (
  backends: Backends,
  service: APIService,
): Promise<Map<string, string>> => {
  const { code, text } = await backends.fetch(await backends.destination(service, '/openapi/v3'), {
    user: { name: 'system:aggregator', groups: [] },
  })
  if (code !== 200) return new Map()
  const { paths = {} } = JSON.parse(text) as {
    paths?: Record<string, { serverRelativeURL?: string }>
  }
  return new Map(
    Object.entries(paths).map(([path, { serverRelativeURL = '' }]) => [path, serverRelativeURL]),
  )
}
