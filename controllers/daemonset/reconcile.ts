/** A DaemonSet and the nodes → where Pods are missing, where they have to go, and what the status says. Pure. */

import type { Condition } from '#api/conditions.js'
import type { LabelSelector } from '#api/label-selector.js'
import type { NamespacedObject } from '#api/object.js'
import { podWantsNode } from '#client/node-affinity.js'
import {
  isPodReady,
  isPodTerminal,
  isSameTaint,
  isTerminating,
  type Node,
  type Pod,
  type Toleration,
  tolerates,
} from '#client/pod.js'
import { addToList } from '#collections/add-to-list.js'
import { jsonEqual } from '#json/object.js'
import { byAge } from '../by-age.js'
import { isPodAvailable } from '../pods/availability.js'
import type { NewPod, PodTemplate } from '../pods/pod-control.js'
import { revisionOf } from '../pods/revisions.js'

export interface DaemonSet extends NamespacedObject {
  spec: {
    selector: LabelSelector
    template: PodTemplate
    minReadySeconds?: number
    revisionHistoryLimit?: number
    updateStrategy?: {
      type?: string
      rollingUpdate?: { maxUnavailable?: number | string; maxSurge?: number | string }
    }
    [field: string]: unknown
  }
  status: {
    collisionCount?: number
    conditions?: Condition[]
    [field: string]: unknown
  }
}

/** Daemons tolerate the taints of unhealthy nodes; upstream's AddOrUpdateDaemonPodTolerations. */
const tolerationOf = (key: string, effect: string): Toleration => ({
  key: `node.kubernetes.io/${key}`,
  operator: 'Exists',
  effect,
})
const daemonTolerations: readonly Toleration[] = [
  tolerationOf('not-ready', 'NoExecute'),
  tolerationOf('unreachable', 'NoExecute'),
  tolerationOf('disk-pressure', 'NoSchedule'),
  tolerationOf('memory-pressure', 'NoSchedule'),
  tolerationOf('pid-pressure', 'NoSchedule'),
  tolerationOf('unschedulable', 'NoSchedule'),
]
const hostNetworkToleration = tolerationOf('network-unavailable', 'NoSchedule')

const isSameToleration = (a: Toleration) => (b: Toleration) =>
  isSameTaint(a)(b) && a.operator === b.operator && (a.value ?? '') === (b.value ?? '')

export const withDaemonTolerations = <T extends { spec: NewPod['spec'] }>(pod: T): T => {
  const own = pod.spec.tolerations ?? []
  const added = pod.spec.hostNetwork
    ? [...daemonTolerations, hostNetworkToleration]
    : daemonTolerations
  // In the place of the template's own, which may have an end.
  const kept = own.map((t) => added.find(isSameToleration(t)) ?? t)
  const missing = added.filter((t) => !own.some(isSameToleration(t)))
  return { ...pod, spec: { ...pod.spec, tolerations: [...kept, ...missing] } }
}

/** The Pod may only go to this node: by affinity to its name, so that the scheduler still has its say. */
export const pinnedTo = (pod: NewPod, nodeName: string): NewPod => ({
  ...pod,
  spec: {
    ...pod.spec,
    affinity: {
      ...pod.spec.affinity,
      nodeAffinity: {
        ...pod.spec.affinity?.nodeAffinity,
        requiredDuringSchedulingIgnoredDuringExecution: {
          nodeSelectorTerms: [
            { matchFields: [{ key: 'metadata.name', operator: 'In', values: [nodeName] }] },
          ],
        },
      },
    },
  },
})

/** The node that a Pod is on, or is pinned to while it waits. */
export const targetNodeOf = (pod: Pod): string => {
  if (pod.spec.nodeName) return pod.spec.nodeName
  const terms =
    pod.spec.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution
      ?.nodeSelectorTerms ?? []
  for (const field of terms.flatMap((t) => t.matchFields ?? []))
    if (field.key === 'metadata.name' && field.values?.length === 1) return field.values[0]!
  return ''
}

/** Whether the set wants a Pod there, and whether one that runs there may go on. */
export const wantsNode = (
  set: DaemonSet,
  node: Node,
): { shouldRun: boolean; shouldContinue: boolean } => {
  const pod = withDaemonTolerations(set.spec.template)
  if (pod.spec.nodeName && pod.spec.nodeName !== node.metadata.name) return no
  if (!podWantsNode(pod, node)) return no
  const untolerated = (node.spec.taints ?? []).filter(
    (taint) =>
      taint.effect !== 'PreferNoSchedule' &&
      !(pod.spec.tolerations ?? []).some((t) => tolerates(t, taint)),
  )
  if (untolerated.length === 0) return { shouldRun: true, shouldContinue: true }
  return { shouldRun: false, shouldContinue: !untolerated.some((t) => t.effect === 'NoExecute') }
}
const no = { shouldRun: false, shouldContinue: false }

export interface Observed {
  set: DaemonSet
  nodes: readonly Node[]
  pods: readonly Pod[]
  /** The hash of the present template. */
  hash: string
  now: number
}
interface DaemonPlan {
  /** Node names. */
  create: string[]
  delete: Pod[]
  /** Pods that ended and are to be replaced. */
  ended: Pod[]
}

/** Those that have a node first, then by age. */
const byCreation = (a: Pod, b: Pod): number =>
  Number(!a.spec.nodeName) - Number(!b.spec.nodeName) || byAge(a, b)

/** Ended Pods that only wait to be removed do not count. */
export const podsByNode = (pods: readonly Pod[]): Map<string, Pod[]> => {
  const map = new Map<string, Pod[]>()
  for (const pod of pods) {
    if (isTerminating(pod) && isPodTerminal(pod)) continue
    const node = targetNodeOf(pod)
    addToList(map, node, pod)
  }
  return map
}

export const allowsSurge = (set: DaemonSet): boolean => {
  const { type, rollingUpdate } = set.spec.updateStrategy ?? {}
  return type !== 'OnDelete' && ![undefined, 0, '0', '0%'].includes(rollingUpdate?.maxSurge)
}

interface OnNode {
  ended: Pod[]
  live: Pod[]
  oldest: { new: Pod | undefined; old: Pod | undefined }
  /** All but one of each sort. */
  surplus: Pod[]
}

const generationLabel = 'pod-template-generation'

/** The label by which a Pod says of which generation of the template it is. */
export const generationLabels = ({ metadata }: DaemonSet): Record<string, string> => {
  const generation = metadata.annotations?.['deprecated.daemonset.template.generation']
  return generation === undefined ? {} : { [generationLabel]: generation }
}

/**
 * Not to be replaced by an update. Generations begin anew with a set that is made anew: a Pod that it adopts counts as
 * its own though its template was another (IsPodUpdated).
 */
const isUpdated = (pod: Pod, { set, hash }: Pick<Observed, 'set' | 'hash'>): boolean => {
  const { [generationLabel]: generation } = generationLabels(set)
  const isOfGeneration =
    generation !== undefined && pod.metadata.labels?.[generationLabel] === generation
  return isOfGeneration || revisionOf(pod) === hash
}

/** The one Pod of each sort that an update goes by, ended ones included; undefined when there are more. */
export const pairOnNode = (
  here: readonly Pod[],
  observed: Observed,
): { old: Pod | undefined; new: Pod | undefined } | undefined => {
  const staying = here.filter((pod) => !isTerminating(pod))
  const fresh = staying.filter((pod) => isUpdated(pod, observed))
  const old = staying.filter((pod) => !fresh.includes(pod))
  return fresh.length > 1 || old.length > 1 ? undefined : { old: old[0], new: fresh[0] }
}

const sortOutNode = (here: readonly Pod[], { hash }: Pick<Observed, 'hash'>): OnNode => {
  const staying = here.filter((pod) => !isTerminating(pod))
  const live = staying.filter((pod) => !isPodTerminal(pod)).sort(byCreation)
  const fresh = live.filter((pod) => revisionOf(pod) === hash)
  const old = live.filter((pod) => revisionOf(pod) !== hash)
  return {
    ended: staying.filter(isPodTerminal),
    live,
    oldest: { new: fresh[0], old: old[0] },
    surplus: [...fresh.slice(1), ...old.slice(1)],
  }
}

/** Pods missing, superfluous or ended, node by node. */
export const planDaemons = (observed: Observed): DaemonPlan => {
  const { set, nodes, pods } = observed
  const plan: DaemonPlan = { create: [], delete: [], ended: [] }
  if (set.metadata.deletionTimestamp !== undefined) return plan
  const byNode = podsByNode(pods)
  for (const node of nodes) {
    const here = byNode.get(node.metadata.name) ?? []
    const { shouldRun, shouldContinue } = wantsNode(set, node)
    if (shouldRun && here.length === 0) plan.create.push(node.metadata.name)
    else if (!shouldContinue) plan.delete.push(...here.filter((p) => !isTerminating(p)))
    else keepOne(observed, sortOutNode(here, observed), plan)
    const replaces = allowsSurge(set) && shouldRun && here.length > 0
    // With maxSurge the new Pod need not wait for the end of the old one, nor for the removal of one that ended.
    if (replaces && here.every((pod) => isTerminating(pod) || isPodTerminal(pod)))
      plan.create.push(node.metadata.name)
  }
  const known = new Set(nodes.map((n) => n.metadata.name))
  // A Pod that still waits for a node that is gone would wait for ever.
  for (const pod of pods)
    if (!pod.spec.nodeName && !known.has(targetNodeOf(pod)) && !isTerminating(pod))
      plan.delete.push(pod)
  return plan
}

const keepOne = (
  { set, now }: Observed,
  { ended, live, oldest, surplus }: OnNode,
  plan: DaemonPlan,
): void => {
  plan.ended.push(...ended)
  if (!allowsSurge(set)) {
    plan.delete.push(...live.slice(1))
    return
  }
  plan.delete.push(...surplus)
  const { old, new: fresh } = oldest
  if (old === undefined || fresh === undefined) return
  if (!isPodReady(old) || isPodAvailable(fresh, set.spec.minReadySeconds ?? 0, now))
    plan.delete.push(old)
}

/** The status as it should be, or undefined when nothing differs. */
export const daemonStatus = (
  observed: Observed,
  collisionCount: number | undefined,
): DaemonSet['status'] | undefined => {
  const { set, nodes, pods, now } = observed
  const byNode = podsByNode(pods)
  const counts = {
    currentNumberScheduled: 0,
    numberMisscheduled: 0,
    desiredNumberScheduled: 0,
    numberReady: 0,
    updatedNumberScheduled: 0,
    numberAvailable: 0,
  }
  for (const node of nodes) {
    const here = byNode.get(node.metadata.name) ?? []
    if (!wantsNode(set, node).shouldRun) {
      if (here.length > 0) counts.numberMisscheduled++
      continue
    }
    counts.desiredNumberScheduled++
    const pod = [...here].sort(byCreation)[0]
    if (pod === undefined) continue
    counts.currentNumberScheduled++
    if (isPodReady(pod)) counts.numberReady++
    if (isPodAvailable(pod, set.spec.minReadySeconds ?? 0, now)) counts.numberAvailable++
    if (isUpdated(pod, observed)) counts.updatedNumberScheduled++
  }
  const numberUnavailable = counts.desiredNumberScheduled - counts.numberAvailable
  const { updatedNumberScheduled, numberAvailable, ...always } = counts
  const optional = { updatedNumberScheduled, numberAvailable, numberUnavailable, collisionCount }
  const status = {
    ...always,
    ...Object.fromEntries(Object.entries(optional).filter(([, n]) => n)),
    observedGeneration: set.metadata.generation ?? 0,
    ...(set.status?.conditions ? { conditions: set.status.conditions } : {}),
  }
  const same = jsonEqual(set.status ?? {}, status)
  return same ? undefined : status
}
