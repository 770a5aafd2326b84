/** The filters in upstream's order and words. */
import { arePortsTaken, hostPortsOf } from '#client/host-ports.js'
import { podWantsNode } from '#client/node-affinity.js'
import type { Pod, Taint } from '#client/pod.js'
import { tolerates, untoleratedTaint } from '#client/pod.js'
import { podRequests } from '#client/pod-requests.js'
import type { ClusterView } from './cluster-state.js'
import { declaredFeatures } from './declared-features.js'
import { curable, type Filter, type Filters, hopeless, type Refusal } from './filter.js'
import { podAffinityFilter } from './pod-affinity-filter.js'
import { spreadFilter } from './topology-spread-filter.js'

/** Made ready for the Pod; undefined when it has nothing to say about it. */
type Prepare = (pod: Pod, view: ClusterView) => Filter | undefined

const unschedulableTaint: Taint = {
  key: 'node.kubernetes.io/unschedulable',
  effect: 'NoSchedule',
}

const nodeUnschedulable: Prepare = (pod) =>
  (pod.spec.tolerations ?? []).some((t) => tolerates(t, unschedulableTaint))
    ? undefined
    : {
        refuse: ({ node }) =>
          node!.spec.unschedulable ? hopeless('node(s) were unschedulable') : undefined,
      }

const nodeName: Prepare = ({ spec }) =>
  spec.nodeName
    ? {
        refuse: ({ node }) =>
          spec.nodeName === node!.metadata.name
            ? undefined
            : hopeless("node(s) didn't match the requested node name"),
      }
    : undefined

const taints: Prepare = (pod) => ({
  refuse: ({ node }) =>
    untoleratedTaint(node!, pod.spec.tolerations) === undefined
      ? undefined
      : hopeless('node(s) had untolerated taint(s)'),
})

const nodeAffinity: Prepare = (pod) => ({
  refuse: ({ node }) =>
    podWantsNode(pod, node!)
      ? undefined
      : hopeless("node(s) didn't match Pod's node affinity/selector"),
})

const ports: Prepare = (pod) => {
  if (hostPortsOf(pod).length === 0) return undefined
  return {
    refuse: (info) =>
      arePortsTaken(pod, info.pods.values())
        ? curable("node(s) didn't have free ports for the requested pod ports")
        : undefined,
  }
}

const fit: Prepare = (pod, view) => {
  const requests = podRequests(pod)
  return {
    refuse: ({ allocatable, pods, requested }): Refusal | undefined => {
      const reasons: string[] = []
      let never = false
      const room = allocatable.get('pods') ?? 0n
      if (BigInt(pods.size + 1) * 1000n > room) reasons.push('Too many pods')
      for (const [name, milli] of requests) {
        if (milli === 0n) continue
        const offered = allocatable.get(name) ?? 0n
        if (offered === 0n && view.isDevice?.(name)) continue
        if (milli + (requested.get(name) ?? 0n) <= offered) continue
        reasons.push(`Insufficient ${name}`)
        never ||= milli > offered
      }
      return reasons.length === 0 ? undefined : { reasons, hopeless: never }
    },
  }
}

const volumes: Prepare = (_pod, view) => view.volumeFilter

const devices: Prepare = (_pod, view) => view.deviceFilter

const inOrder: readonly Prepare[] = [
  nodeUnschedulable,
  nodeName,
  taints,
  nodeAffinity,
  ports,
  fit,
  volumes,
  spreadFilter,
  podAffinityFilter,
  devices,
  declaredFeatures,
]

/** What rules nodes out for the Pod. */
export const filtersFor = (pod: Pod, view: ClusterView): Filters =>
  inOrder.flatMap((prepare) => prepare(pod, view) ?? [])
