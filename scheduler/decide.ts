/** One decision, pure: a Pod and the nodes as they are → where it goes, or why nowhere. */
import type { Pod } from '#client/pod.js'
import type { ClusterView } from './cluster-state.js'
import { allowedNames, notAllowed, type Refusal, refuse } from './filters.js'
import type { NodeInfo } from './node-info.js'
import { pickBest } from './scores.js'

export interface Refused {
  info: NodeInfo
  refusal: Refusal
}
export type Decision = { node: string } | { node: undefined; refused: Refused[]; message: string }

/** `1 Insufficient cpu, 2 node(s) were unschedulable`: sorted as texts, as upstream prints them. */
export const countReasons = (reasons: Iterable<readonly string[]>): string => {
  const counts = new Map<string, number>()
  for (const list of reasons)
    for (const reason of list) counts.set(reason, (counts.get(reason) ?? 0) + 1)
  return [...counts]
    .map(([reason, count]) => `${count} ${reason}`)
    .sort()
    .join(', ')
}

const conflicting: Refusal = { reasons: ['pod affinity terms conflict'], hopeless: true }

export const decide = (pod: Pod, nodes: readonly NodeInfo[], view: ClusterView): Decision => {
  if (nodes.length === 0)
    return { node: undefined, refused: [], message: 'no nodes available to schedule pods' }
  const refused: Refused[] = []
  const candidates: NodeInfo[] = []
  const allowed = allowedNames(pod)
  if (allowed?.size === 0)
    return {
      node: undefined,
      refused: nodes.map((info) => ({ info, refusal: conflicting })),
      message: `0/${nodes.length} nodes are available: pod affinity terms conflict.`,
    }
  for (const info of nodes) {
    const isAllowed = allowed?.has(info.node!.metadata.name!) ?? true
    const refusal = isAllowed ? refuse(pod, info, view) : notAllowed
    if (refusal === undefined) candidates.push(info)
    else refused.push({ info, refusal })
  }
  const best = pickBest(pod, candidates, view)
  if (best !== undefined) return { node: best.node!.metadata.name! }
  const reasons = countReasons(refused.map((r) => r.refusal.reasons))
  return {
    node: undefined,
    refused,
    message: `0/${nodes.length} nodes are available: ${reasons}.`,
  }
}
