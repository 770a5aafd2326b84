/** Defaults that pods have and templates have not (kubernetes, pkg/apis/core/v1/defaults.go). */
import type { Fields, KubeObject } from '#api/object.js'
import { type Amounts, aggregateResources, isPodLevel } from '#api/pod-resources.js'
import { parseQuantity } from '#api/quantity.js'
import { isHugePages } from '#api/resource-names.js'
import { givenEmpty, isGiven, noteGivenEmpty } from '#json/given-empty.js'
import { defaultPodSpec, roundResources } from './pod-spec-defaults.js'
import { type ResourceList, roundResourceList } from './resource-lists.js'

const requestsFromLimits = (container: Fields): void => {
  const { resources } = container
  // Upstream makes a map before it looks what to put in.
  if (givenEmpty(resources, 'limits') !== undefined && !isGiven(resources, 'requests'))
    noteGivenEmpty(resources, 'requests', {})
  const limits: ResourceList | undefined = resources?.limits
  if (limits === undefined) return
  const requests: ResourceList | undefined = resources.requests
  // Nothing is written where nothing is missing: the spec may be one that is stored.
  if (requests && Object.keys(limits).every((name) => Object.hasOwn(requests, name))) return
  resources.requests = { ...limits, ...requests }
}

const fill = (list: ResourceList | undefined, amounts: Amounts): ResourceList => ({
  ...Object.fromEntries([...amounts].map(([name, quantity]) => [name, quantity.text])),
  ...list,
})

const only = (amounts: Amounts, keep: (name: string) => boolean): Amounts =>
  new Map([...amounts].filter(([name]) => keep(name)))

/** Upstream's reading fills these in, from what admission (LimitRanger) has given to the containers, too. */
export const defaultPodLevelResources = (spec: Fields): void => {
  const { resources } = spec
  if (resources === undefined) return
  const set = (field: 'limits' | 'requests', amounts: Amounts): void => {
    const list: ResourceList | undefined = resources[field]
    if ([...amounts.keys()].every((name) => list?.[name] !== undefined)) return
    resources[field] = fill(list, amounts)
  }
  if (resources.limits || resources.requests)
    set(
      'limits',
      only(
        aggregateResources(spec, 'limits'),
        (name) => isHugePages(name) && resources.requests?.[name] === undefined,
      ),
    )
  if (resources.limits) {
    set(
      'requests',
      only(aggregateResources(spec, 'requests'), (name) => isPodLevel(name) && !isHugePages(name)),
    )
    const limits: ResourceList = resources.limits
    const amounts = Object.entries(limits).map(([name, q]) => [name, parseQuantity(q)] as const)
    set('requests', only(new Map(amounts), isPodLevel))
  }
}

const defaultHostPorts = (containers: Fields[] | null | undefined): void => {
  for (const container of containers ?? [])
    for (const port of container.ports ?? []) port.hostPort ??= port.containerPort
}

/** The first of the addresses stands alone too; given alone it makes the list. */
const alignPodIPs = (status: Fields | undefined): void => {
  if (status === undefined) return
  const { podIP, podIPs } = status
  // Kubelets that know only the one address are right when the two differ.
  if (podIP !== undefined && podIP !== podIPs?.[0]?.ip) status.podIPs = [{ ip: podIP }]
  else if (podIP === undefined && podIPs?.[0]?.ip) status.podIP = podIPs[0].ip
}

export const defaultPod = (pod: KubeObject): void => {
  const { spec, status } = pod
  defaultPodSpec(spec)
  for (const container of spec.containers ?? []) requestsFromLimits(container)
  for (const container of spec.initContainers ?? []) requestsFromLimits(container)
  defaultPodLevelResources(spec)
  spec.enableServiceLinks ??= true
  if (spec.hostNetwork) {
    defaultHostPorts(spec.containers)
    defaultHostPorts(spec.initContainers)
  }
  alignPodIPs(status)
  roundResourceList(status?.allocatedResources)
  roundResources(status?.resources)
  for (const list of ['containerStatuses', 'initContainerStatuses', 'ephemeralContainerStatuses'])
    for (const container of status?.[list] ?? []) {
      roundResourceList(container.allocatedResources)
      roundResources(container.resources)
    }
}
