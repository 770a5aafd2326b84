/** Which Pods a controller gives up first when it has too many (kubernetes, controller_utils.go). Pure. */
import { parseTime } from '#api/clock.js'
import { conditionOf } from '#api/conditions.js'
import { isSidecar } from '#api/pod-resources.js'
import { isPodActive, isPodReady, type Pod } from '#client/pod.js'
import { compareTexts } from '#go/compare-texts.js'

type Order = (a: Pod, b: Pod) => number

const deletionCost = 'controller.kubernetes.io/pod-deletion-cost'
const phases: Record<string, number> = { Pending: 0, Unknown: 1, Running: 2 }
const nsPerMs = 1e6

const readySince = (pod: Pod): string => conditionOf(pod, 'Ready')?.lastTransitionTime ?? ''
const created = (pod: Pod): string => pod.metadata.creationTimestamp ?? ''

const byStage: Order = (a, b) =>
  Number(Boolean(a.spec.nodeName)) - Number(Boolean(b.spec.nodeName)) ||
  (phases[a.status?.phase ?? ''] ?? 0) - (phases[b.status?.phase ?? ''] ?? 0) ||
  Number(isPodReady(a)) - Number(isPodReady(b))

const mostRestarts = (statuses: readonly { restartCount?: number }[] = []): number =>
  Math.max(0, ...statuses.map(({ restartCount }) => restartCount ?? 0))
const sidecarRestarts = ({ spec, status }: Pod): number => {
  const names = new Set((spec.initContainers ?? []).filter(isSidecar).map(({ name }) => name))
  return mostRestarts(status?.initContainerStatuses?.filter(({ name }) => names.has(name)))
}
const byRestarts: Order = (a, b) =>
  mostRestarts(b.status?.containerStatuses) - mostRestarts(a.status?.containerStatuses) ||
  sidecarRestarts(b) - sidecarRestarts(a)

/** Newer first; a time that is missing is the newest. */
const newer = (a: string, b: string): number =>
  a === '' || b === '' ? Number(a !== '') - Number(b !== '') : compareTexts(b, a)

/** The order of a Job's Pods (ActivePods): those that lose least by being ended are first. */
export const byProgress: Order = (a, b) =>
  byStage(a, b) ||
  (isPodReady(a) ? newer(readySince(a), readySince(b)) : 0) ||
  byRestarts(a, b) ||
  newer(created(a), created(b))

/** The power of two of an age in nanoseconds. */
const scaleOf = (ageMs: number): number => (ageMs > 0 ? Math.floor(Math.log2(ageMs * nsPerMs)) : -1)

/** Newer first on a logarithmic scale. Times of one power of two count as the same, and the UID is as good as chance. */
const newerByScale = (timeOf: (pod: Pod) => string, now: number): Order => {
  const scale = (pod: Pod) => scaleOf(now - parseTime(timeOf(pod)))
  return (a, b) => {
    const [x, y] = [timeOf(a), timeOf(b)]
    if (x === y || x === '' || y === '') return newer(x, y)
    return scale(a) - scale(b) || compareTexts(a.metadata.uid, b.metadata.uid)
  }
}

const costOf = (pod: Pod): number => Number(pod.metadata.annotations?.[deletionCost] ?? 0) || 0

/** Pods of a replica set, the first to go first (ActivePodsWithRanks); of doubled ones on a node among `related` the first. */
export const rankForDeletion = (
  pods: readonly Pod[],
  { related, now }: { related: readonly Pod[]; now: number },
): Pod[] => {
  const onNode = new Map<string, number>()
  for (const { spec } of related.filter(isPodActive))
    onNode.set(spec.nodeName ?? '', (onNode.get(spec.nodeName ?? '') ?? 0) + 1)
  const neighbours = ({ spec }: Pod): number => onNode.get(spec.nodeName ?? '') ?? 0
  const newerReady = newerByScale(readySince, now)
  const newerCreated = newerByScale(created, now)
  return [...pods].sort(
    (a, b) =>
      byStage(a, b) ||
      costOf(a) - costOf(b) ||
      neighbours(b) - neighbours(a) ||
      (isPodReady(a) ? newerReady(a, b) : 0) ||
      byRestarts(a, b) ||
      newerCreated(a, b),
  )
}
