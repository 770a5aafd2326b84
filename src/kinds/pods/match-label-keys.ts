/** `matchLabelKeys`: values of a Pod's own labels become part of selectors when it is created. */
import type { Fields, KubeObject } from '#api/object.js'

const extend = (term: Fields, labels: Record<string, string>): void => {
  if (term.labelSelector === undefined) return
  const add = (keys: string[] = [], operator: string): void => {
    for (const key of keys) {
      if (!Object.hasOwn(labels, key)) continue
      term.labelSelector.matchExpressions ??= []
      term.labelSelector.matchExpressions.push({ key, operator, values: [labels[key]] })
    }
  }
  add(term.matchLabelKeys, 'In')
  add(term.mismatchLabelKeys, 'NotIn')
}

/** Changes the pod in place. */
export const applyMatchLabelKeys = (pod: KubeObject): void => {
  const labels = pod.metadata.labels ?? {}
  const { affinity, topologySpreadConstraints } = pod.spec
  for (const kind of [affinity?.podAffinity, affinity?.podAntiAffinity]) {
    for (const term of kind?.requiredDuringSchedulingIgnoredDuringExecution ?? [])
      extend(term, labels)
    for (const { podAffinityTerm } of kind?.preferredDuringSchedulingIgnoredDuringExecution ?? [])
      extend(podAffinityTerm, labels)
  }
  for (const constraint of topologySpreadConstraints ?? []) extend(constraint, labels)
}
