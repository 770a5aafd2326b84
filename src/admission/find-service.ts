/** Where a webhook that is named by its Service can be reached from outside of the cluster's network. */
import { goQuote } from '#api/go-quote.js'
import type { RequestContext } from '#registry/resource-definition.js'
import { findObject, listObjects } from './plugin.js'
import type { ServiceReference } from './webhook-client.js'

/** A ready endpoint behind the Service. Throws in upstream's words when there is no such Service, or nobody behind it. */
export const findService = async (
  ctx: RequestContext,
  { namespace, name, port = 443 }: ServiceReference,
): Promise<{ host: string; port: number }> => {
  const service = await findObject(ctx, { group: '', resource: 'services' }, { name, namespace })
  if (service === undefined) throw new Error(`service ${goQuote(name)} not found`)
  const slices = await listObjects(
    ctx,
    { group: 'discovery.k8s.io', resource: 'endpointslices' },
    namespace,
  )
  const wanted = (service.spec.ports ?? []).find((p: { port: number }) => p.port === port)
  for (const slice of slices) {
    if (slice.metadata.labels?.['kubernetes.io/service-name'] !== name) continue
    const ready = (slice.endpoints ?? []).find(
      (e: { conditions?: { ready?: boolean } }) => e.conditions?.ready !== false,
    )
    const found =
      (slice.ports ?? []).find((p: { name?: string }) => (p.name ?? '') === (wanted?.name ?? '')) ??
      slice.ports?.[0]
    if (ready !== undefined && found?.port !== undefined)
      return { host: ready.addresses[0], port: found.port }
  }
  throw new Error(`no endpoints available for service ${goQuote(name)}`)
}
