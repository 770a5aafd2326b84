/** Whether the server behind an APIService can be used. Upstream: kube-aggregator, remote_available_controller.go. */

import { isReady, serviceOf, slicesOf } from '#admission/find-service.js'
import type { KubeObject } from '#api/object.js'
import { mastersGroup } from '#api/user-info.js'
import { urlWithPort } from '#go/net-error.js'
import { goQuote } from '#go/quote.js'
import { jsonEqual } from '#json/object.js'
import { limits } from '#limits'
import type { RequestContext } from '#registry/resource-definition.js'
import { type APIService, type Availability, availabilityOf, pathOf } from './api-service.js'
import type { Backends } from './backends.js'

const unavailable = (reason: string, message: string): Availability => ({
  status: 'False',
  reason,
  message,
})

const localAvailability: Availability = {
  status: 'True',
  reason: 'Local',
  message: 'Local APIServices are always available',
}

/** Whether its condition says all that there is to say of an APIService without a Service. */
export const isKnownLocal = (service: KubeObject): boolean => {
  const { status, reason, message } = availabilityOf(service) ?? {}
  return jsonEqual({ status, reason, message }, localAvailability)
}

/** A slice serves a port only if the port's name is the same. */
const serves = (slice: KubeObject, portName: string): boolean =>
  (slice.endpoints ?? []).some(isReady) &&
  (slice.ports ?? []).some(
    (port: { name?: string; port?: number }) => (port.name ?? '') === portName && port.port,
  )

/** Faults of the Service that its objects show. */
const checkService = async (
  ctx: RequestContext,
  reference: { namespace: string; name: string; port: number },
): Promise<Availability | undefined> => {
  const service = await serviceOf(ctx, reference)
  const which = `service/${reference.name} in ${goQuote(reference.namespace)}`
  if (service === undefined) return unavailable('ServiceNotFound', `${which} is not present`)
  if (service.spec.type !== 'ClusterIP') return undefined
  const port = (service.spec.ports ?? []).find((p: { port: number }) => p.port === reference.port)
  if (port === undefined)
    return unavailable('ServicePortError', `${which} is not listening on port ${reference.port}`)
  const slices = await slicesOf(ctx, reference)
  if (slices.length === 0)
    return unavailable('EndpointsNotFound', `cannot find endpointslices for ${which}`)
  const portName: string = port.name ?? ''
  if (!slices.some((slice) => serves(slice, portName)))
    return unavailable(
      'MissingEndpoints',
      `endpointslices for ${which} have no addresses with port name ${goQuote(portName)}`,
    )
  return undefined
}

export const aggregatorUser = { name: 'system:kube-aggregator', groups: [mastersGroup] }

/** Resolves when the server answers what every aggregated API must serve. */
const tryDiscovery = async (backends: Backends, service: APIService): Promise<void> => {
  const destination = await backends.destination(service, pathOf(service))
  const href = urlWithPort(destination.url)
  const failing = (why: string) => new Error(`failing or missing response from ${href}: ${why}`)
  const { code } = await backends
    .fetch(destination, { user: aggregatorUser })
    .catch((error: Error) => {
      throw failing(error.message)
    })
  if (code < 200 || code >= 300) throw failing(`bad status from ${href}: ${code}`)
}

/** Endpoints are drawn at random: if the first fails, several more are tried at once, and one answer is enough. */
const checkDiscovery = async (
  backends: Backends,
  service: APIService,
): Promise<Availability | undefined> => {
  const attempt = () => tryDiscovery(backends, service)
  try {
    await attempt().catch(() =>
      Promise.any(Array.from({ length: limits.apiServiceChecksAtOnce - 1 }, attempt)),
    )
    return undefined
  } catch (error) {
    const { message } = (error as AggregateError).errors.at(-1) as Error
    return unavailable('FailedDiscoveryCheck', message)
  }
}

export const checkAvailability = async (
  ctx: RequestContext,
  backends: Backends,
  service: APIService,
): Promise<Availability> => {
  if (service.spec.service === undefined) return localAvailability
  return (
    (await checkService(ctx, service.spec.service)) ??
    (await checkDiscovery(backends, service)) ?? {
      status: 'True',
      reason: 'Passed',
      message: 'all checks passed',
    }
  )
}
