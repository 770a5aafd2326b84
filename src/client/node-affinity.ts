/** Which nodes a Pod wants by their labels and names. */
import { matchesLabels, matchesRequirement } from '#api/label-selector.js'
import type { Affinity, Node, NodeSelectorTerm, PodSpec } from './pod.js'

type Labelled = { metadata: Pick<Node['metadata'], 'name' | 'labels'> }

/** Requirements of one term are all to hold; a term without any matches no node. */
const matchesTerm = (term: NodeSelectorTerm, node: Labelled): boolean => {
  const expressions = term.matchExpressions ?? []
  const fields = term.matchFields ?? []
  if (expressions.length + fields.length === 0) return false
  const names = { 'metadata.name': node.metadata.name }
  return (
    expressions.every((r) => matchesRequirement(node.metadata.labels ?? {}, r)) &&
    fields.every((r) => matchesRequirement(names, r))
  )
}

/** One of the terms has to match. */
export const matchesNodeSelector = (
  selector: { nodeSelectorTerms: NodeSelectorTerm[] } | undefined,
  node: Labelled,
): boolean => selector === undefined || selector.nodeSelectorTerms.some((t) => matchesTerm(t, node))

export const podWantsNode = (
  pod: { spec: Pick<PodSpec, 'nodeSelector' | 'affinity'> },
  node: Labelled,
): boolean =>
  matchesLabels(pod.spec.nodeSelector ?? {}, node.metadata.labels) &&
  matchesNodeSelector(
    pod.spec.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution,
    node,
  )

/** Sum of the weights of preferred terms that match. */
export const nodePreference = (affinity: Affinity['nodeAffinity'], node: Node): number =>
  (affinity?.preferredDuringSchedulingIgnoredDuringExecution ?? [])
    .filter((p) => matchesTerm(p.preference, node))
    .reduce((sum, p) => sum + p.weight, 0)
