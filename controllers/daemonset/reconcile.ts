/** A DaemonSet and the nodes → where Pods are missing, where they have to go, and what the status says. Pure. */
import { jsonEqual } from '#api/json-object.js'
import type { JsonValue, KubeObject } from '#api/object.js'
import type { LabelSelector } from '#client/label-selector.js'
import { podWantsNode } from '#client/node-affinity.js'
import {
  type Condition,
  isPodReady,
  isPodTerminal,
  type Node,
  type Pod,
  type Toleration,
  tolerates,
} from '#client/pod.js'
import { isPodAvailable } from '../pods/availability.js'
import type { NewPod, PodTemplate } from '../pods/pod-control.js'
import { revisionLabel } from '../pods/revisions.js'

export interface DaemonSet extends KubeObject {
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

/** Daemons run where nothing else may; upstream's AddOrUpdateDaemonPodTolerations. */
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

export const withDaemonTolerations = <T extends { spec: NewPod['spec'] }>(pod: T): T => {
  const own = pod.spec.tolerations ?? []
  const added = pod.spec.hostNetwork
    ? [...daemonTolerations, hostNetworkToleration]
    : daemonTolerations
  const isSame = (a: Toleration) => (b: Toleration) => a.key === b.key && a.effect === b.effect
  const kept = own.filter((t) => !added.some(isSame(t)))
  return { ...pod, spec: { ...pod.spec, tolerations: [...kept, ...added] } }
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
  const pod = withDaemonTolerations({ ...set.spec.template } as NewPod) as unknown as Pod
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
export interface DaemonPlan {
  /** Node names. */
  create: string[]
  delete: Pod[]
  /** Those of `delete` that failed and come back. */
  failed: Pod[]
}

const isTerminating = (pod: Pod): boolean => pod.metadata.deletionTimestamp !== undefined
const hashOf = (pod: Pod): string => pod.metadata.labels?.[revisionLabel] ?? ''
const byCreation = (a: Pod, b: Pod): number =>
  (a.metadata.creationTimestamp ?? '').localeCompare(b.metadata.creationTimestamp ?? '')

const podsByNode = (pods: readonly Pod[]): Map<string, Pod[]> => {
  const map = new Map<string, Pod[]>()
  for (const pod of pods) {
    const node = targetNodeOf(pod)
    map.set(node, [...(map.get(node) ?? []), pod])
  }
  return map
}

/** Pods missing, superfluous or failed, node by node. */
export const planDaemons = (observed: Observed): DaemonPlan => {
  const { set, nodes, pods } = observed
  const plan: DaemonPlan = { create: [], delete: [], failed: [] }
  if (set.metadata.deletionTimestamp !== undefined) return plan
  const byNode = podsByNode(pods)
  for (const node of nodes) {
    const here = byNode.get(node.metadata.name!) ?? []
    const { shouldRun, shouldContinue } = wantsNode(set, node)
    if (shouldRun && here.length === 0) plan.create.push(node.metadata.name!)
    else if (!shouldContinue) plan.delete.push(...here.filter((p) => !isTerminating(p)))
    else keepOne(here, plan)
  }
  const known = new Set(nodes.map((n) => n.metadata.name!))
  // A Pod that still waits for a node that is gone would wait for ever.
  for (const pod of pods)
    if (!pod.spec.nodeName && !known.has(targetNodeOf(pod)) && !isTerminating(pod))
      plan.delete.push(pod)
  return plan
}

const keepOne = (here: readonly Pod[], plan: DaemonPlan): void => {
  const live: Pod[] = []
  for (const pod of here) {
    if (isTerminating(pod)) continue
    if (isPodTerminal(pod)) {
      plan.failed.push(pod)
      plan.delete.push(pod)
    } else live.push(pod)
  }
  plan.delete.push(...live.sort(byCreation).slice(1))
}

const limitOf = (value: number | string, total: number): number =>
  typeof value === 'number' ? value : Math.ceil((Number.parseInt(value, 10) * total) / 100)

/** Outdated Pods that may go now; those that do not work anyway do not count. */
export const planUpdate = (observed: Observed): Pod[] => {
  const { set, nodes, pods, hash, now } = observed
  if (set.spec.updateStrategy?.type === 'OnDelete') return []
  if (set.metadata.deletionTimestamp !== undefined) return []
  const byNode = podsByNode(pods)
  const wanted = nodes.filter((node) => wantsNode(set, node).shouldRun)
  const max = Math.max(
    1,
    limitOf(set.spec.updateStrategy?.rollingUpdate?.maxUnavailable ?? 1, wanted.length),
  )
  let unavailable = 0
  const broken: Pod[] = []
  const working: Pod[] = []
  for (const node of wanted) {
    const here = (byNode.get(node.metadata.name!) ?? []).filter((p) => !isTerminating(p))
    const available = here.some((p) => isPodAvailable(p, set.spec.minReadySeconds ?? 0, now))
    if (!available) unavailable++
    for (const pod of here) if (hashOf(pod) !== hash) (available ? working : broken).push(pod)
  }
  return [...broken, ...working.slice(0, Math.max(0, max - unavailable))]
}

/** The status as it should be, or undefined when nothing differs. */
export const daemonStatus = (
  { set, nodes, pods, hash, now }: Observed,
  collisionCount: number | undefined,
): DaemonSet['status'] | undefined => {
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
    const here = byNode.get(node.metadata.name!) ?? []
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
    if (hashOf(pod) === hash) counts.updatedNumberScheduled++
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
  const same = jsonEqual((set.status ?? {}) as JsonValue, status as unknown as JsonValue)
  return same ? undefined : status
}
