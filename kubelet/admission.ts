/** What a Pod needs against what the node has left; upstream: pkg/kubelet/lifecycle/predicate.go. */
import { isSidecar, isTerminalPhase, type Pod } from './pod.js'
import type { Refusal } from './pod-context.js'
import { amountOf } from './resource-amount.js'

const counted = ['cpu', 'memory'] as const
type Amounts = Record<(typeof counted)[number], number>

/** Requests of a Pod: main containers and sidecars together, or the largest init container if that is more. */
export const requestsOf = ({ spec }: Pod): Amounts => {
  const sum: Amounts = { cpu: 0, memory: 0 }
  for (const name of counted) {
    const of = (container: (typeof spec.containers)[number]) =>
      amountOf(container.resources?.requests?.[name] ?? 0)
    let sidecars = 0
    let most = 0
    for (const container of spec.initContainers ?? []) {
      if (isSidecar(container)) sidecars += of(container)
      else most = Math.max(most, sidecars + of(container))
    }
    const main = spec.containers.reduce((total, container) => total + of(container), sidecars)
    sum[name] = Math.max(main, most)
  }
  return sum
}

const inUnits = { cpu: 1000, memory: 1 } as const

export const refusalOf = (
  pod: Pod,
  others: readonly Pod[],
  node: { allocatable: Readonly<Record<string, string>>; labels: Readonly<Record<string, string>> },
): Refusal | undefined => {
  const active = others.filter(
    (other) => other.metadata.uid !== pod.metadata.uid && !isTerminalPhase(other.status?.phase),
  )
  const misfit = Object.entries(pod.spec.nodeSelector ?? {}).some(
    ([key, value]) => node.labels[key] !== value,
  )
  if (misfit) {
    return {
      reason: 'NodeAffinity',
      message:
        "Pod was rejected: Predicate NodeAffinity failed: node(s) didn't match Pod's node affinity/selector",
    }
  }
  const podsMax = amountOf(node.allocatable.pods ?? 0)
  if (active.length >= podsMax) return outOf('pods', 1, active.length, podsMax)
  const wanted = requestsOf(pod)
  for (const name of counted) {
    if (wanted[name] === 0) continue
    const used = active.reduce((sum, other) => sum + requestsOf(other)[name], 0)
    const capacity = amountOf(node.allocatable[name] ?? 0)
    const unit = inUnits[name]
    if (used + wanted[name] > capacity) {
      return outOf(name, wanted[name] * unit, used * unit, capacity * unit)
    }
  }
  return undefined
}

const outOf = (name: string, requested: number, used: number, capacity: number): Refusal => ({
  reason: `OutOf${name}`,
  message: `Pod was rejected: Node didn't have enough resource: ${name}, requested: ${Math.round(requested)}, used: ${Math.round(used)}, capacity: ${Math.round(capacity)}`,
})
