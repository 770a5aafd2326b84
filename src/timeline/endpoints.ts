/** Whether traffic still finds a Pod: what the EndpointSlices of its Services say of it. Pure. */
import type { PersistedObject } from '#api/object.js'

interface Conditions {
  readonly ready: boolean
  readonly serving: boolean
  readonly terminating: boolean
}

interface Endpoint {
  readonly conditions?: Partial<Conditions>
  readonly targetRef?: { uid?: string }
}

export interface EndpointState extends Conditions {
  /** The same in words. */
  readonly text: string
}

/** By the name of the Service. */
export type EndpointStates = ReadonlyMap<string, EndpointState>

const serviceLabel = 'kubernetes.io/service-name'

/** Missing conditions mean that all is well. */
const stateOf = ({ conditions = {} }: Endpoint): EndpointState => {
  const { ready = true, serving = true, terminating = false } = conditions
  return { ready, serving, terminating, text: describe({ ready, serving, terminating }) }
}

const describe = ({ ready, serving, terminating }: Conditions): string => {
  if (ready) return 'endpoint ready'
  if (!terminating) return 'endpoint not ready'
  return `endpoint terminating, no new connections${serving ? ', still serving' : ', serving no more'}`
}

export const endpointsOf = (slices: readonly PersistedObject[], podUid: string): EndpointStates => {
  const found = new Map<string, EndpointState>()
  for (const { metadata, endpoints } of slices) {
    const endpoint = ((endpoints ?? []) as Endpoint[]).find((one) => one.targetRef?.uid === podUid)
    if (endpoint) found.set(metadata.labels?.[serviceLabel] ?? metadata.name, stateOf(endpoint))
  }
  return found
}

export const endpointChanges = (before: EndpointStates, after: EndpointStates): string[] => {
  const changed = [...after].filter(([service, { text }]) => before.get(service)?.text !== text)
  const removed = [...before.keys()].filter((service) => !after.has(service))
  return [
    ...changed.map(([service, { text }]) => `service ${service}: ${text}`),
    ...removed.map((service) => `service ${service}: endpoint removed`),
  ]
}
