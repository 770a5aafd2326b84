/** Defaults that pods have and templates have not (kubernetes, pkg/apis/core/v1/defaults.go). */
import type { Fields, KubeObject } from '#api/object.js'
import { addQuantities, compareQuantities, parseQuantity, type Quantity } from '#api/quantity.js'
import { defaultPodSpec, roundResources } from './pod-spec-defaults.js'
import { type ResourceList, roundResourceList } from './resource-lists.js'

const requestsFromLimits = (container: Fields): void => {
  const limits: ResourceList | undefined = container.resources?.limits
  if (limits === undefined) return
  container.resources.requests = { ...limits, ...container.resources.requests }
}

const isHugePage = (name: string): boolean => name.startsWith('hugepages-')
const isPodLevel = (name: string): boolean =>
  name === 'cpu' || name === 'memory' || isHugePage(name)
const isSidecar = (container: Fields): boolean => container.restartPolicy === 'Always'

type Amounts = Map<string, Quantity>

const add = (amounts: Amounts, list: ResourceList = {}): void => {
  for (const [name, text] of Object.entries(list)) {
    const given = parseQuantity(text)
    const before = amounts.get(name)
    amounts.set(name, before === undefined ? given : addQuantities(before, given))
  }
}

const raise = (amounts: Amounts, others: Amounts): void => {
  for (const [name, quantity] of others) {
    const before = amounts.get(name)
    if (before === undefined || compareQuantities(quantity, before) > 0) amounts.set(name, quantity)
  }
}

/** What a pod needs at most at one time: sidecars add to what comes after them, other init containers run alone. */
export const aggregateResources = (spec: Fields, of: 'limits' | 'requests'): Amounts => {
  const running: Amounts = new Map()
  for (const container of spec.containers ?? []) add(running, container.resources?.[of])
  const sidecars: Amounts = new Map()
  const peak: Amounts = new Map()
  for (const container of spec.initContainers ?? []) {
    if (isSidecar(container)) {
      add(running, container.resources?.[of])
      add(sidecars, container.resources?.[of])
      raise(peak, sidecars)
    } else {
      const alone: Amounts = new Map(sidecars)
      add(alone, container.resources?.[of])
      raise(peak, alone)
    }
  }
  raise(running, peak)
  return running
}

const fill = (list: ResourceList | undefined, amounts: Amounts): ResourceList | undefined => {
  const filled = { ...Object.fromEntries([...amounts].map(([n, q]) => [n, q.text])), ...list }
  return Object.keys(filled).length === 0 ? undefined : filled
}

const only = (amounts: Amounts, keep: (name: string) => boolean): Amounts =>
  new Map([...amounts].filter(([name]) => keep(name)))

const defaultPodLevelResources = (spec: Fields): void => {
  const { resources } = spec
  if (resources === undefined) return
  const set = (field: 'limits' | 'requests', amounts: Amounts): void => {
    const filled = fill(resources[field], amounts)
    if (filled !== undefined) resources[field] = filled
  }
  if (resources.limits || resources.requests)
    set(
      'limits',
      only(
        aggregateResources(spec, 'limits'),
        (name) => isHugePage(name) && resources.requests?.[name] === undefined,
      ),
    )
  if (resources.limits) {
    set(
      'requests',
      only(aggregateResources(spec, 'requests'), (name) => isPodLevel(name) && !isHugePage(name)),
    )
    const limits = new Map<string, Quantity>()
    add(limits, resources.limits)
    set('requests', only(limits, isPodLevel))
  }
}

const defaultHostPorts = (containers: Fields[] = []): void => {
  for (const container of containers)
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
  for (const list of ['containerStatuses', 'initContainerStatuses', 'ephemeralContainerStatuses'])
    for (const container of status?.[list] ?? []) {
      roundResourceList(container.allocatedResources)
      roundResources(container.resources)
    }
}
