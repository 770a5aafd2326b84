/** What a pod counts as in quotas (kubernetes, pkg/quota/v1/evaluator/core/pods.go). */

import { parseTime } from '../clock.js'
import { implicitResourcePrefix } from '../extended-resources.js'
import { graceMs } from '../grace-period.js'
import type { Fields, KubeObject } from '../object.js'
import { isTerminalPhase } from '../pod-phase.js'
import {
  type Amounts,
  addAmounts,
  aggregateResources,
  isPodLevel,
  isSidecar,
  listOfAmounts,
  type ResourceList,
  raiseAmounts,
} from '../pod-resources.js'
import { parseQuantity } from '../quantity.js'
import { isHugePages, isNativeResource } from '../resource-names.js'

export type Usage = Record<string, string>

const standard = new Set(['cpu', 'memory', 'ephemeral-storage'])
const ofPods = new Set([
  'count/pods',
  'pods',
  ...[...standard].flatMap((name) => [name, `requests.${name}`, `limits.${name}`]),
])

export const measuresPods = (name: string): boolean =>
  ofPods.has(name) ||
  isHugePages(name.replace(/^requests\./, '')) ||
  (name.startsWith('requests.') &&
    (!isNativeResource(name) || name.startsWith(`requests.${implicitResourcePrefix}`)))

/**
 * Pods that have ended take up no machine, and a pod that should be gone twice over (its node is lost) must not keep
 * others from taking its place.
 */
export const isCharged = ({ metadata, status }: KubeObject, now: number): boolean => {
  if (isTerminalPhase(status?.phase)) return false
  const { deletionTimestamp, deletionGracePeriodSeconds } = metadata
  if (deletionTimestamp === undefined || deletionGracePeriodSeconds === undefined) return true
  return now <= parseTime(deletionTimestamp) + graceMs(deletionGracePeriodSeconds)
}

/** It will end by itself: what the scope of this name is about. */
export const isTerminating = ({ spec }: KubeObject): boolean =>
  (spec.activeDeadlineSeconds ?? -1) >= 0

const largest = (...lists: (ResourceList | undefined)[]): ResourceList => {
  const amounts: Amounts = new Map()
  for (const list of lists)
    raiseAmounts(
      amounts,
      Object.entries(list ?? {}).map(([name, text]) => [name, parseQuantity(text)]),
    )
  return listOfAmounts(amounts)
}

/** By name; of several of one name the first counts. */
const byName = (statuses: readonly Fields[] = []): ReadonlyMap<string, Fields> =>
  new Map(statuses.toReversed().map((status) => [status.name, status]))

/** While it is resized a container counts as the most of what it asks for, was allotted and has. */
const effectiveList = (pod: KubeObject, of: 'limits' | 'requests') => {
  const { spec, status } = pod
  const isInfeasible = status?.conditions?.some(
    (c: Fields) => c.type === 'PodResizePending' && c.reason === 'Infeasible',
  )
  const initContainers = new Set<Fields>(spec.initContainers)
  const ofInitContainers = byName(status?.initContainerStatuses)
  const ofContainers = byName(status?.containerStatuses)
  return (container: Fields): ResourceList | undefined => {
    const asked: ResourceList | undefined = container.resources?.[of]
    const isInit = initContainers.has(container)
    if (isInit && !isSidecar(container)) return asked
    const found = (isInit ? ofInitContainers : ofContainers).get(container.name)
    if (found?.resources === undefined) return asked
    const allotted = of === 'requests' ? found.allocatedResources : undefined
    return largest(isInfeasible ? undefined : asked, found.resources[of], allotted)
  }
}

const wholePod = (pod: KubeObject, of: 'limits' | 'requests'): Amounts => {
  const { spec } = pod
  const amounts = aggregateResources(spec, of, effectiveList(pod, of))
  for (const [name, text] of Object.entries((spec.resources?.[of] ?? {}) as ResourceList))
    if (isPodLevel(name)) amounts.set(name, parseQuantity(text))
  const overhead = Object.entries((spec.overhead ?? {}) as ResourceList)
  const isAdded = (name: string) => of === 'requests' || (amounts.get(name)?.nano ?? 0n) > 0n
  addAmounts(amounts, Object.fromEntries(overhead.filter(([name]) => isAdded(name))))
  return amounts
}

/** What is not charged still takes up a name. */
export const podUsage = (pod: KubeObject, now: number): Usage => {
  const usage: Usage = { 'count/pods': '1' }
  if (!isCharged(pod, now)) return usage
  usage.pods = '1'
  for (const [name, { text }] of wholePod(pod, 'requests')) {
    usage[`requests.${name}`] = text
    if (standard.has(name) || isHugePages(name)) usage[name] = text
  }
  for (const [name, { text }] of wholePod(pod, 'limits'))
    if (standard.has(name)) usage[`limits.${name}`] = text
  return usage
}
