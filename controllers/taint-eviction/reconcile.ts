/** How long a Pod may stay on a node with NoExecute taints. Pure. */
import { type Pod, type Taint, tolerates } from '#client/pod.js'

export const noExecute = (taints: readonly Taint[] = []): Taint[] =>
  taints.filter(({ effect }) => effect === 'NoExecute')

/**
 * Milliseconds that the Pod may stay where these NoExecute taints are, from when they are seen on its node, whenever they
 * were put there: the shortest of the tolerations in use, or Infinity. Undefined: one taint is not tolerated. Of those
 * that tolerate a taint the first is in use (GetMatchingTolerations).
 */
export const toleratedMs = ({ spec }: Pod, taints: readonly Taint[]): number | undefined => {
  let shortest = Number.POSITIVE_INFINITY
  for (const taint of taints) {
    const used = spec.tolerations?.find((toleration) => tolerates(toleration, taint))
    if (used === undefined) return undefined
    const { tolerationSeconds } = used
    if (tolerationSeconds !== undefined)
      shortest = Math.min(shortest, Math.max(0, tolerationSeconds) * 1000)
  }
  return shortest
}
