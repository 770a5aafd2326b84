/**
 * What rules a node out for a Pod, in upstream's order and words. `hopeless` means that nothing would change if other
 * Pods left, so that preemption need not look at the node.
 */

import { podWantsNode } from '#client/node-affinity.js'
import type { Pod, Taint } from '#client/pod.js'
import { tolerates, untoleratedTaint } from '#client/pod.js'
import { podRequests } from '#client/pod-requests.js'
import type { ClusterView } from './cluster-state.js'
import { hostPortsOf, type NodeInfo, portsConflict } from './node-info.js'
import {
  satisfiesAffinity,
  satisfiesAntiAffinity,
  satisfiesOthersAntiAffinity,
} from './pod-affinity.js'
import { spreadProblem } from './topology-spread.js'

export interface Refusal {
  reasons: string[]
  hopeless: boolean
}
type Filter = (pod: Pod, info: NodeInfo, view: ClusterView) => Refusal | undefined

const hopeless = (reason: string): Refusal => ({ reasons: [reason], hopeless: true })
const curable = (reason: string): Refusal => ({ reasons: [reason], hopeless: false })

const unschedulableTaint: Taint = {
  key: 'node.kubernetes.io/unschedulable',
  effect: 'NoSchedule',
}

const nodeUnschedulable: Filter = (pod, info) =>
  info.node!.spec.unschedulable &&
  !(pod.spec.tolerations ?? []).some((t) => tolerates(t, unschedulableTaint))
    ? hopeless('node(s) were unschedulable')
    : undefined

const nodeName: Filter = (pod, info) =>
  pod.spec.nodeName && pod.spec.nodeName !== info.node!.metadata.name
    ? hopeless("node(s) didn't match the requested node name")
    : undefined

const taints: Filter = (pod, info) =>
  untoleratedTaint(info.node!, pod.spec.tolerations) === undefined
    ? undefined
    : hopeless('node(s) had untolerated taint(s)')

const nodeAffinity: Filter = (pod, info) =>
  podWantsNode(pod, info.node!)
    ? undefined
    : hopeless("node(s) didn't match Pod's node affinity/selector")

/**
 * The names that the Pod's node affinity allows, when each of its terms names nodes. Others are not even looked at,
 * and told of in another way. Upstream: NodeAffinity.PreFilter.
 */
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

export const notAllowed: Refusal = hopeless("node(s) didn't satisfy plugin(s) [NodeAffinity]")

const ports: Filter = (pod, info) => {
  const wanted = hostPortsOf(pod)
  if (wanted.length === 0) return undefined
  for (const other of info.pods.values())
    for (const taken of hostPortsOf(other))
      if (wanted.some((p) => portsConflict(p, taken)))
        return curable("node(s) didn't have free ports for the requested pod ports")
  return undefined
}

const fit: Filter = (pod, info) => {
  const reasons: string[] = []
  let never = false
  const room = info.allocatable.get('pods')
  if (room !== undefined && BigInt(info.pods.size + 1) * 1000n > room) reasons.push('Too many pods')
  for (const [name, milli] of podRequests(pod)) {
    if (milli === 0n) continue
    const offered = info.allocatable.get(name) ?? 0n
    if (milli + (info.requested.get(name) ?? 0n) <= offered) continue
    reasons.push(`Insufficient ${name}`)
    never ||= milli > offered
  }
  return reasons.length === 0 ? undefined : { reasons, hopeless: never }
}

const volumes: Filter = (_pod, info, view) => {
  const problem = view.volumeProblem?.(info)
  return problem && { reasons: [problem.reason], hopeless: problem.hopeless }
}

const spread: Filter = (pod, info, view) => {
  const problem = spreadProblem(pod, info, view)
  if (problem === undefined) return undefined
  return problem === 'skew'
    ? curable("node(s) didn't match pod topology spread constraints")
    : hopeless("node(s) didn't match pod topology spread constraints (missing required label)")
}

const podAffinity: Filter = (pod, info, view) => {
  if (!satisfiesAffinity(pod, info, view))
    return hopeless("node(s) didn't match pod affinity rules")
  if (!satisfiesAntiAffinity(pod, info, view))
    return curable("node(s) didn't match pod anti-affinity rules")
  return satisfiesOthersAntiAffinity(pod, info, view)
    ? undefined
    : curable("node(s) didn't satisfy existing pods anti-affinity rules")
}

const filters: readonly Filter[] = [
  nodeUnschedulable,
  nodeName,
  taints,
  nodeAffinity,
  ports,
  fit,
  volumes,
  spread,
  podAffinity,
]

export const refuse = (pod: Pod, info: NodeInfo, view: ClusterView): Refusal | undefined => {
  for (const filter of filters) {
    const refusal = filter(pod, info, view)
    if (refusal !== undefined) return refusal
  }
  return undefined
}
