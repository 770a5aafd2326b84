/** One decision, pure: a Pod and the nodes as they are → where it goes, or why nowhere. */
import type { Node, Pod } from '#client/pod.js'
import type { ClusterView } from './cluster-state.js'
import { type Filters, hopeless, type Refusal, refuse } from './filter.js'
import type { NodeInfo } from './node-info.js'
import { preparedFor } from './prepare.js'
import type { Profile } from './profile.js'
import { allowedNames, notAllowed } from './requested-nodes.js'
import { pickBest } from './scores.js'

interface Refused {
  info: NodeInfo
  refusal: Refusal
}
export type Decision =
  | { node: string }
  /** `refused` has each node that was looked at; none if it was known before that no node will do. */
  | { node: undefined; refused: Refused[]; filters: Filters; message: string }

/** `1 Insufficient cpu, 2 node(s) were unschedulable`: sorted as texts, as upstream prints them. */
const countReasons = (reasons: Iterable<readonly string[]>): string => {
  const counts = new Map<string, number>()
  for (const list of reasons)
    for (const reason of list) counts.set(reason, (counts.get(reason) ?? 0) + 1)
  return [...counts]
    .map(([reason, count]) => `${count} ${reason}`)
    .sort()
    .join(', ')
}
/** Upstream: FitError. */
export const fitMessage = (reasons: readonly (readonly string[])[]): string =>
  `0/${reasons.length} nodes are available: ${countReasons(reasons)}.`

const nameOf = (node: Node | undefined): string => node!.metadata.name

const nowhere = (message: string): Decision => ({
  node: undefined,
  refused: [],
  filters: [],
  message,
})

/** What is known before any node is looked at: upstream's PreFilter, in the order of its plugins. */
const problemOf = (allowed: ReadonlySet<string> | undefined, view: ClusterView) =>
  allowed?.size === 0 ? 'pod affinity terms conflict' : view.volumeProblem

/** The last of the plugins has a say in what may help, unlike those after one that refuses the Pod. */
const refusedByDevices = (problem: string, { nodes }: ClusterView): Decision => ({
  node: undefined,
  refused: nodes.map((info) => ({ info, refusal: hopeless(problem) })),
  filters: [],
  message: `0/${nodes.length} nodes are available: ${problem}.`,
})

export const decide = (pod: Pod, view: ClusterView, profile: Profile): Decision => {
  if (view.nodes.length === 0) return nowhere('no nodes available to schedule pods')
  const allowed = profile.looksAtNamesFirst ? allowedNames(pod) : undefined
  const problem = problemOf(allowed, view)
  // Upstream's plugins for preemption have no state then, and what they say of that is shown.
  if (problem !== undefined)
    return nowhere(`0/${view.nodes.length} nodes are available: ${problem}. not found`)
  if (view.deviceProblem !== undefined) return refusedByDevices(view.deviceProblem, view)
  const filters = preparedFor(pod, view, profile.filters)
  const look = (info: NodeInfo) => refuse(filters, info, view.nominatedTo(info))
  // The node on which room was made for the Pod, or volumes, is tried first, even if it is not among those that its
  // affinity names.
  const nominated = view.nodes.find(({ node }) => nameOf(node) === pod.status?.nominatedNodeName)
  if (nominated !== undefined && look(nominated) === undefined)
    return { node: nameOf(nominated.node) }
  const refused: Refused[] = []
  const fitting: NodeInfo[] = []
  for (const info of view.nodes) {
    const isLookedAt = info === nominated || (allowed?.has(nameOf(info.node)) ?? true)
    const refusal = isLookedAt ? look(info) : notAllowed
    if (refusal === undefined) fitting.push(info)
    else refused.push({ info, refusal })
  }
  const best = pickBest(pod, fitting, { view, scores: profile.scores })
  if (best !== undefined) return { node: nameOf(best.node) }
  const message = fitMessage(refused.map(({ refusal }) => refusal.reasons))
  return { node: undefined, refused, filters, message }
}
