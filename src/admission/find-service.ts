/**
 * Resolves the Service of a webhook or an aggregated API to an endpoint: outside the cluster's network its cluster IP
 * cannot be reached. Upstream's ResolveEndpoint (--enable-aggregator-routing).
 */
import type { KubeObject } from '#api/object.js'
import { fromRandom } from '#collections/from-random.js'
import { goQuote } from '#go/quote.js'
import type { RequestContext } from '#registry/resource-definition.js'
import type { ServiceReference } from '#webhook/webhook-client.js'
import { findObject, listObjects } from './plugin.js'

interface Port {
  readonly name?: string
  readonly port?: number
}
interface Endpoint {
  readonly addresses: readonly string[]
  readonly conditions?: { readonly ready?: boolean }
}

interface ServiceAddress {
  readonly host: string
  readonly port: number
}

const defaultPort = 443

/** The slices of a Service. */
export const slicesOf = async (
  ctx: RequestContext,
  { namespace, name }: ServiceReference,
): Promise<KubeObject[]> => {
  const resource = { group: 'discovery.k8s.io', resource: 'endpointslices' }
  const all = await listObjects(ctx, resource, namespace)
  return all.filter(({ metadata }) => metadata.labels?.['kubernetes.io/service-name'] === name)
}

export const serviceOf = (
  ctx: RequestContext,
  { namespace, name }: ServiceReference,
): KubeObject | undefined | Promise<KubeObject | undefined> =>
  findObject(ctx, { group: '', resource: 'services' }, { name, namespace })

export const isReady = ({ conditions }: Endpoint): boolean => conditions?.ready !== false

/** From a random one on, but endpoints of the Service's first address family first. */
const inOrder = (slices: readonly KubeObject[], { spec }: KubeObject): KubeObject[] => {
  const [preferred] = (spec.ipFamilies ?? []) as string[]
  const rank = (slice: KubeObject): number => (slice.addressType === preferred ? 0 : 1)
  return fromRandom(slices).toSorted((a, b) => rank(a) - rank(b))
}

/**
 * A ready endpoint of the Service. Throws in upstream's words if there is no such Service or no ready endpoint. A
 * Service of type ExternalName is its name and the port asked for, which upstream allows only without that flag.
 */
export const findService = async (
  ctx: RequestContext,
  reference: ServiceReference,
): Promise<ServiceAddress> => {
  const { name, port = defaultPort } = reference
  const service = await serviceOf(ctx, reference)
  if (service === undefined) throw new Error(`service ${goQuote(name)} not found`)
  if (service.spec.type === 'ExternalName') return { host: service.spec.externalName, port }
  const wanted = ((service.spec.ports ?? []) as Port[]).find((p) => p.port === port)
  if (wanted === undefined)
    throw new Error(`no service port ${port} found for service ${goQuote(name)}`)
  for (const slice of inOrder(await slicesOf(ctx, reference), service)) {
    const found = ((slice.ports ?? []) as Port[]).find(
      (p) => (p.name ?? '') === (wanted.name ?? '') && p.port !== undefined,
    )
    const [ready] = fromRandom(((slice.endpoints ?? []) as Endpoint[]).filter(isReady))
    if (found !== undefined && ready !== undefined)
      return { host: ready.addresses[0]!, port: found.port! }
  }
  throw new Error(`no endpoints available for service ${goQuote(name)}`)
}
