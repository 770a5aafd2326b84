/** Whether traffic still finds a Pod: what the EndpointSlices of its Services say of it. Pure. */
import type { PersistedObject } from '#api/object.js'

interface Endpoint {
  readonly conditions?: { ready?: boolean; serving?: boolean; terminating?: boolean }
  readonly targetRef?: { uid?: string }
}

/** Texts by the name of the Service. */
export type EndpointStates = ReadonlyMap<string, string>

const serviceLabel = 'kubernetes.io/service-name'

/** Missing conditions mean that all is well. */
const describe = ({ conditions = {} }: Endpoint): string => {
  const { ready = true, serving = true, terminating = false } = conditions
  if (ready) return 'endpoint ready'
  if (!terminating) return 'endpoint not ready'
  return `endpoint terminating, no new connections${serving ? ', still serving' : ', serving no more'}`
}

export const endpointsOf = (slices: readonly PersistedObject[], podUid: string): EndpointStates => {
  const found = new Map<string, string>()
  for (const { metadata, endpoints } of slices) {
    const endpoint = ((endpoints ?? []) as Endpoint[]).find((one) => one.targetRef?.uid === podUid)
    if (endpoint) found.set(metadata.labels?.[serviceLabel] ?? metadata.name, describe(endpoint))
  }
  return found
}

export const endpointChanges = (before: EndpointStates, after: EndpointStates): string[] => {
  const changed = [...after].filter(([service, state]) => before.get(service) !== state)
  const removed = [...before.keys()].filter((service) => !after.has(service))
  return [
    ...changed.map(([service, state]) => `service ${service}: ${state}`),
    ...removed.map((service) => `service ${service}: endpoint removed`),
  ]
}
