/** A Pod whose node affinity names nodes. Upstream: NodeAffinity.PreFilter. */
import type { Pod } from '#client/pod.js'
import { hopeless, type Refusal } from './filter.js'

/** The names that are allowed, when each of the Pod's terms names nodes. Others are not even looked at. */
export const allowedNames = (pod: Pod): ReadonlySet<string> | undefined => {
  const terms =
    pod.spec.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution
      ?.nodeSelectorTerms ?? []
  const allowed = new Set<string>()
  for (const { matchFields = [] } of terms) {
    const lists = matchFields
      .filter((f) => f.key === 'metadata.name' && f.operator === 'In')
      .map((f) => new Set(f.values))
    const [first, ...others] = lists
    if (first === undefined) return undefined
    for (const name of first) if (others.every((set) => set.has(name))) allowed.add(name)
  }
  return terms.length === 0 ? undefined : allowed
}

/** And reported in another way. */
export const notAllowed: Refusal = hopeless("node(s) didn't satisfy plugin(s) [NodeAffinity]")
