/** When a Pod has to leave a node because of NoExecute taints. Pure. */
import { parseTime } from '#api/clock.js'
import { type Pod, type Taint, tolerates } from '#client/pod.js'

/**
 * Milliseconds since the epoch at which the Pod goes; undefined when it may stay for ever. Of the tolerations in use
 * the shortest counts, from when its taint was put there; where that is not said, from `seenMs`, when we first saw it.
 */
export const evictionTime = (
  pod: Pod,
  taints: readonly Taint[],
  { now, seenMs = now }: { now: number; seenMs?: number | undefined },
): number | undefined => {
  let at: number | undefined
  for (const taint of taints) {
    if (taint.effect !== 'NoExecute') continue
    const used = (pod.spec.tolerations ?? []).filter((t) => tolerates(t, taint))
    if (used.length === 0) return now
    const seconds = used.map((t) => t.tolerationSeconds).filter((s) => s !== undefined)
    if (seconds.length === 0) continue
    const since = taint.timeAdded ? parseTime(taint.timeAdded) : seenMs
    const due = since + Math.max(0, Math.min(...seconds)) * 1000
    at = at === undefined ? due : Math.min(at, due)
  }
  return at
}
