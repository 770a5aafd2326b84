/**
 * What a Pod takes of its node while it is resized: the most of what it asks for, what it was allocated and what it has.
 * Upstream: determineEffectiveRequests.
 */
import { conditionOf } from '#api/conditions.js'
import { parseMilli } from '#client/amount.js'
import type { Amounts, Container, Pod } from '#client/pod.js'
import { jsonEqual } from '#json/object.js'

const largest = (lists: readonly (Amounts | undefined)[]): Amounts => {
  const most = new Map<string, string>()
  for (const list of lists)
    for (const [name, text] of Object.entries(list ?? {})) {
      const known = most.get(name)
      if (known === undefined || parseMilli(text) > parseMilli(known)) most.set(name, text)
    }
  return Object.fromEntries(most)
}

interface Held {
  resources?: { requests?: Amounts }
  allocatedResources?: Amounts
}

/** The Pod as if it asked for what it takes. */
export const asHeld = (pod: Pod): Pod => {
  const { spec, status = {} } = pod
  // A kubelet that cannot grant it has said so: what the Pod asks for does not count then.
  const isInfeasible = conditionOf(pod, 'PodResizePending')?.reason === 'Infeasible'
  const heldBy = (asked: Amounts | undefined, held: Held | undefined): Amounts | undefined => {
    if (held?.resources === undefined) return asked
    const { resources, allocatedResources } = held
    if (jsonEqual(asked, resources.requests) && jsonEqual(asked, allocatedResources)) return asked
    return largest([...(isInfeasible ? [] : [asked]), resources.requests, allocatedResources])
  }
  const statuses = new Map(
    [...(status.containerStatuses ?? []), ...(status.initContainerStatuses ?? [])].map((one) => [
      one.name,
      one,
    ]),
  )
  const shown = (container: Container): Container => {
    const asked = container.resources?.requests
    const requests = heldBy(asked, statuses.get(container.name))
    if (requests === asked) return container
    return { ...container, resources: { ...container.resources, requests: requests! } }
  }
  if (statuses.size === 0 && status.resources === undefined) return pod
  const { containers, initContainers, resources } = spec
  const ofPod = resources?.requests
  return {
    ...pod,
    spec: {
      ...spec,
      containers: containers.map(shown),
      ...(initContainers && {
        initContainers: initContainers.map((one) =>
          one.restartPolicy === 'Always' ? shown(one) : one,
        ),
      }),
      ...(ofPod && { resources: { ...resources, requests: heldBy(ofPod, status)! } }),
    },
  }
}
