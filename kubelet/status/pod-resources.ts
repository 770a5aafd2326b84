/**
 * Allocated and actual resources of a whole Pod, for its status; upstream: convertToAPIPodLevelResourcesStatus
 * (pkg/kubelet/kubelet_pods.go).
 */
import { familyOf, formatMilli, type MilliAmounts, parseAmounts } from '#client/amount.js'
import type { Amounts } from '#client/pod.js'
import { podRequests } from '#client/pod-requests.js'
import { type ContainerSpec, mainAndInitContainers, type Pod, type Resources } from '../pod.js'

type List = keyof Resources

/** As the amount is written where it is given first. */
const textsOf = (amounts: MilliAmounts, pod: Pod, list: List): Amounts => {
  const owners = [pod.spec, ...mainAndInitContainers(pod)]
  const texts = [...amounts].map(([name, milli]) => {
    const given = owners.map(({ resources }) => resources?.[list]?.[name]).find(Boolean)
    return [name, formatMilli(milli, familyOf(given ?? pod.spec.overhead?.[name] ?? ''))]
  })
  return Object.fromEntries(texts)
}

/** Limits are added up as requests are; overhead counts where there is a limit. */
export const limitsOf = (pod: Pod): MilliAmounts => {
  const { spec } = pod
  const asRequests = <T extends { resources?: Resources | undefined }>(one: T): T => ({
    ...one,
    resources: { requests: one.resources?.limits ?? {} },
  })
  const limits = podRequests({
    spec: {
      ...asRequests(spec),
      overhead: {},
      containers: spec.containers.map(asRequests),
      initContainers: (spec.initContainers ?? []).map(asRequests),
    },
  })
  for (const [name, milli] of parseAmounts(spec.overhead)) {
    const limit = limits.get(name)
    if (limit) limits.set(name, limit + milli)
  }
  return limits
}

const unlessEmpty = (list: List | 'allocatedResources', amounts: Amounts) =>
  Object.keys(amounts).length > 0 ? { [list]: amounts } : {}

/** A Pod with other resources. */
export const withResources = (
  pod: Pod,
  ofPod: Resources | undefined,
  ofContainer: (container: ContainerSpec) => Resources | undefined,
): Pod => {
  const shown = (container: ContainerSpec): ContainerSpec => {
    const resources = ofContainer(container)
    return resources === undefined ? container : { ...container, resources }
  }
  const { containers, initContainers } = pod.spec
  return {
    ...pod,
    spec: {
      ...pod.spec,
      ...(ofPod ? { resources: ofPod } : {}),
      containers: containers.map(shown),
      ...(initContainers ? { initContainers: initContainers.map(shown) } : {}),
    },
  }
}

/**
 * `actual` is the Pod with the resources that it has, if those differ from what it was allocated; `said` is what its
 * status said before, while it runs.
 */
export const podResources = (
  allocated: Pod,
  actual: Pod,
  said: Resources | undefined,
): { allocatedResources?: Amounts; resources: Resources } => {
  const requests = textsOf(podRequests(actual), actual, 'requests')
  // No kernel knows the request of memory: what the status said stays, as upstream.
  const memory = said?.requests?.memory
  return {
    ...unlessEmpty('allocatedResources', textsOf(podRequests(allocated), allocated, 'requests')),
    resources: {
      ...unlessEmpty('limits', textsOf(limitsOf(actual), actual, 'limits')),
      ...unlessEmpty('requests', memory ? { ...requests, memory } : requests),
    },
  }
}
