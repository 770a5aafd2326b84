/** Nodes and Pods as the scheduler's decisions see them, and the decisions. */
import type { Node, Pod, PodSpec } from '#client/pod.js'
import type { ClusterView } from '#scheduler/cluster-state.js'
import { configureProfile } from '#scheduler/configuration/configured-profile.js'
import { decide } from '#scheduler/decide.js'
import { refuse } from '#scheduler/filter.js'
import { NodeInfo } from '#scheduler/node-info.js'
import { type FoundPreemption, findCandidates, preemptionOf } from '#scheduler/preemption.js'
import { preparedFor } from '#scheduler/prepare.js'
import { makeProfile } from '#scheduler/profile.js'
import type { Budget } from '#scheduler/victims.js'
import { storedMetadata } from '../stored-metadata.js'

export const node = (
  name: string,
  extra: { spec?: Node['spec']; labels?: Record<string, string>; cpu?: string } = {},
): Node => ({
  kind: 'Node',
  apiVersion: 'v1',
  metadata: storedMetadata({ name, labels: { 'kubernetes.io/hostname': name, ...extra.labels } }),
  spec: extra.spec ?? {},
  status: { allocatable: { cpu: extra.cpu ?? '4', memory: '8Gi', pods: '110' } },
})
export const pod = (
  name: string,
  spec: Partial<PodSpec> = {},
  labels: Record<string, string> = {},
): Pod => ({
  kind: 'Pod',
  apiVersion: 'v1',
  metadata: storedMetadata({
    name,
    namespace: 'ns',
    uid: name,
    labels,
    creationTimestamp: '2026-01-01T00:00:00Z',
  }),
  spec: { containers: [{ name: 'c' }], ...spec },
  status: {},
})
export const cpu = (amount: string): Partial<PodSpec> => ({
  containers: [{ name: 'c', resources: { requests: { cpu: amount } } }],
})
export const info = (of: Node, ...pods: Pod[]): NodeInfo => {
  const result = new NodeInfo()
  result.setNode(of)
  for (const p of pods) result.addPod(p)
  return result
}
const byDefault = makeProfile(configureProfile('default-scheduler'))

export const viewOf = (nodes: NodeInfo[], parts: Partial<ClusterView> = {}): ClusterView => ({
  nodes,
  namespaceLabels: () => ({ team: 'a' }),
  serviceSelectors: () => [],
  nominatedTo: () => [],
  ...parts,
})
/** As a scheduler decides that nobody has configured. */
export const decideIn = (view: ClusterView, p: Pod) => decide(p, view, byDefault)
export const choose = (p: Pod, ...nodes: NodeInfo[]) => decideIn(viewOf(nodes), p)
/** Why `p` cannot go to `n`, in a cluster of all these. */
export const why = (p: Pod, n: NodeInfo, ...others: NodeInfo[]) =>
  refuse(preparedFor(p, viewOf([n, ...others]), byDefault.filters), n, [])?.reasons.join('; ')
/** Who would have to go for `p`, after it fitted nowhere. */
export const preempt = (p: Pod, view: ClusterView, budgets: Budget[] = []): FoundPreemption => {
  const decision = decideIn(view, p)
  if (decision.node !== undefined) throw new Error(`fits on ${decision.node}`)
  const found = findCandidates(p, decision, view, budgets)
  return Array.isArray(found) ? preemptionOf(found) : found
}
export const victimsOf = (found: ReturnType<typeof preempt>): string[] | undefined =>
  found.node === undefined ? undefined : found.victims.map((v) => v.metadata.name)
