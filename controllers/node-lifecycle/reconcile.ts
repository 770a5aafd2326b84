/** What the silence or the conditions of a node mean: its conditions and taints. Pure (kubernetes, node_lifecycle_controller.go). */
import { formatTime } from '#api/clock.js'
import { type Condition, conditionOf, putCondition } from '#api/conditions.js'
import { isSameTaint, type Node, type Taint } from '#client/pod.js'
import { getOwn } from '#json/object.js'

const conditionTypes = ['Ready', 'MemoryPressure', 'DiskPressure', 'PIDPressure'] as const
const notReady = 'node.kubernetes.io/not-ready'
const unreachable = 'node.kubernetes.io/unreachable'

/** Conditions of a node that has not been heard of for too long, or undefined when they say so already. */
export const unknownConditions = (node: Node, now: number): Condition[] | undefined => {
  const conditions = node.status.conditions ?? []
  let next = conditions
  for (const type of conditionTypes) {
    const known = conditionOf(node, type)
    if (known?.status === 'Unknown') continue
    const time = formatTime(now)
    const wanted: Condition =
      known === undefined
        ? {
            type,
            status: 'Unknown',
            reason: 'NodeStatusNeverUpdated',
            message: 'Kubelet never posted node status.',
            lastHeartbeatTime: node.metadata.creationTimestamp ?? time,
            lastTransitionTime: time,
          }
        : {
            ...known,
            status: 'Unknown',
            reason: 'NodeStatusUnknown',
            message: 'Kubelet stopped posting node status.',
            lastTransitionTime: time,
          }
    next = putCondition(next, wanted)
  }
  return next === conditions ? undefined : next
}

/** Condition → status → key of its NoSchedule taint. */
const scheduleTaints: Record<string, Record<string, string>> = {
  Ready: { False: notReady, Unknown: unreachable },
  MemoryPressure: { True: 'node.kubernetes.io/memory-pressure' },
  DiskPressure: { True: 'node.kubernetes.io/disk-pressure' },
  PIDPressure: { True: 'node.kubernetes.io/pid-pressure' },
  NetworkUnavailable: { True: 'node.kubernetes.io/network-unavailable' },
}
const unschedulable = 'node.kubernetes.io/unschedulable'
const ownScheduleKeys = new Set([
  unschedulable,
  ...Object.values(scheduleTaints).flatMap((m) => Object.values(m)),
])
const ownExecuteKeys = new Set([notReady, unreachable])

/** A node may say anything of itself: a status that is none of these means nothing. */
const taintOf = (node: Node, type: string): string | undefined =>
  getOwn(scheduleTaints[type], conditionOf(node, type)?.status ?? '')

const isOwnExecute = ({ effect, key }: Taint): boolean =>
  effect === 'NoExecute' && ownExecuteKeys.has(key)
const isOwn = (taint: Taint): boolean =>
  isOwnExecute(taint) || (taint.effect === 'NoSchedule' && ownScheduleKeys.has(taint.key))

const wantedTaints = (node: Node, mayEvict: boolean): Taint[] => {
  const wanted: Taint[] = []
  // First the taint that Pods leave by, which upstream changes in the look that finds the node lost; the others follow it.
  const ready = taintOf(node, 'Ready')
  const isEvicting = (node.spec.taints ?? []).some(isOwnExecute)
  if (ready !== undefined && (mayEvict || isEvicting))
    wanted.push({ key: ready, effect: 'NoExecute' })
  for (const type of Object.keys(scheduleTaints)) {
    const key = taintOf(node, type)
    if (key !== undefined) wanted.push({ key, effect: 'NoSchedule' })
  }
  if (node.spec.unschedulable) wanted.push({ key: unschedulable, effect: 'NoSchedule' })
  return wanted
}

/** The node is not ready and its Pods are not given up yet. */
export const awaitsEviction = (node: Node): boolean =>
  taintOf(node, 'Ready') !== undefined && !(node.spec.taints ?? []).some(isOwnExecute)

/**
 * The taints that the node should have, or undefined when it has them. Those of others stay. Pods of a node that has
 * become unready are given up (NoExecute) with `mayEvict` only; a node that they leave already gets the taint that fits
 * at once.
 */
export const nodeTaints = (
  node: Node,
  { now, mayEvict }: { now: number; mayEvict: boolean },
): Taint[] | undefined => {
  const taints = node.spec.taints ?? []
  const wanted = wantedTaints(node, mayEvict)
  const kept = taints.filter((t) => !isOwn(t) || wanted.some(isSameTaint(t)))
  const missing = wanted.filter((t) => !taints.some(isSameTaint(t)))
  if (missing.length === 0 && kept.length === taints.length) return undefined
  return [...kept, ...missing.map((t) => ({ ...t, timeAdded: formatTime(now) }))]
}

/** The taints without those by which Pods are given up, or undefined when there are none. */
export const withoutEviction = (node: Node): Taint[] | undefined => {
  const taints = node.spec.taints ?? []
  const kept = taints.filter((taint) => !isOwnExecute(taint))
  return kept.length < taints.length ? kept : undefined
}

/** Outdated labels that follow those of today, as changes; undefined if they already do. */
export const oldLabels = ({
  metadata: { labels = {} },
}: Node): Record<string, string> | undefined => {
  const changes: Record<string, string> = {}
  for (const name of ['os', 'arch']) {
    const value = labels[`kubernetes.io/${name}`]
    const old = `beta.kubernetes.io/${name}`
    if (value !== undefined && labels[old] !== value) changes[old] = value
  }
  return Object.keys(changes).length > 0 ? changes : undefined
}
