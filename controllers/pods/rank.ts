/** Which Pods a controller gives up first when it has too many; upstream's ActivePodsWithRanks. */
import { conditionOf } from '#api/conditions.js'
import { isPodReady, type Pod } from '#client/pod.js'

const deletionCost = 'controller.kubernetes.io/pod-deletion-cost'
const phases: Record<string, number> = { Pending: 0, Unknown: 1, Running: 2 }

const restarts = (pod: Pod): number =>
  Math.max(0, ...(pod.status?.containerStatuses ?? []).map((s) => s.restartCount ?? 0))
const costOf = (pod: Pod): number => Number(pod.metadata.annotations?.[deletionCost] ?? 0) || 0
const readySince = (pod: Pod): string => conditionOf(pod, 'Ready')?.lastTransitionTime ?? ''
const created = (pod: Pod): string => pod.metadata.creationTimestamp ?? ''
/** Newer first. */
const newer = (a: string, b: string): number => (a === b ? 0 : a > b ? -1 : 1)

/** Sorted so that the first are to go. */
export const rankForDeletion = (pods: readonly Pod[]): Pod[] => {
  const onNode = new Map<string, number>()
  for (const pod of pods)
    onNode.set(pod.spec.nodeName ?? '', (onNode.get(pod.spec.nodeName ?? '') ?? 0) + 1)
  const neighbours = (pod: Pod): number => onNode.get(pod.spec.nodeName ?? '') ?? 0
  return [...pods].sort(
    (a, b) =>
      Number(Boolean(a.spec.nodeName)) - Number(Boolean(b.spec.nodeName)) ||
      (phases[a.status?.phase ?? ''] ?? 0) - (phases[b.status?.phase ?? ''] ?? 0) ||
      Number(isPodReady(a)) - Number(isPodReady(b)) ||
      costOf(a) - costOf(b) ||
      neighbours(b) - neighbours(a) ||
      (isPodReady(a) ? newer(readySince(a), readySince(b)) : 0) ||
      restarts(b) - restarts(a) ||
      newer(created(a), created(b)),
  )
}
