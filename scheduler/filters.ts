/** Filters that look at the node alone and at what it offers, in upstream's words. */

import { isNativeResource } from '#api/resource-names.js'
import { arePortsTaken, hostPortsOf } from '#client/host-ports.js'
import { matchesNodeSelector, podWantsNode } from '#client/node-affinity.js'
import type { Taint } from '#client/pod.js'
import { tolerates, untoleratedTaint } from '#client/pod.js'
import { podRequests } from '#client/pod-requests.js'
import type { PluginArguments } from './configuration/plugin-arguments.js'
import { curable, hopeless, type Refusal } from './filter.js'
import type { Prepare } from './prepare.js'

const unschedulableTaint: Taint = {
  key: 'node.kubernetes.io/unschedulable',
  effect: 'NoSchedule',
}

export const nodeUnschedulable: Prepare = (pod) =>
  (pod.spec.tolerations ?? []).some((t) => tolerates(t, unschedulableTaint))
    ? undefined
    : {
        refuse: ({ node }) =>
          node!.spec.unschedulable ? hopeless('node(s) were unschedulable') : undefined,
      }

export const nodeName: Prepare = ({ spec }) =>
  spec.nodeName
    ? {
        refuse: ({ node }) =>
          spec.nodeName === node!.metadata.name
            ? undefined
            : hopeless("node(s) didn't match the requested node name"),
      }
    : undefined

export const taints: Prepare = (pod) => ({
  refuse: ({ node }) =>
    untoleratedTaint(node!, pod.spec.tolerations) === undefined
      ? undefined
      : hopeless('node(s) had untolerated taint(s)'),
})

/** `addedAffinity`: what the scheduler asks of nodes for all of its Pods. */
export const nodeAffinity = ({ addedAffinity }: PluginArguments['NodeAffinity']): Prepare => {
  const added = addedAffinity?.requiredDuringSchedulingIgnoredDuringExecution
  return (pod) => ({
    refuse: ({ node }) => {
      if (!matchesNodeSelector(added, node!))
        return hopeless("node(s) didn't match scheduler-enforced node affinity")
      return podWantsNode(pod, node!)
        ? undefined
        : hopeless("node(s) didn't match Pod's node affinity/selector")
    },
  })
}

export const ports: Prepare = (pod) => {
  if (hostPortsOf(pod).length === 0) return undefined
  return {
    refuse: (info) =>
      arePortsTaken(pod, info.pods.values())
        ? curable("node(s) didn't have free ports for the requested pod ports")
        : undefined,
  }
}

type Ignored = Pick<
  PluginArguments['NodeResourcesFit'],
  'ignoredResources' | 'ignoredResourceGroups'
>

/** Whether somebody else looks after an extended resource, such as an extender of another scheduler. */
const isIgnored = (name: string, { ignoredResources, ignoredResourceGroups }: Ignored): boolean =>
  !isNativeResource(name) &&
  (ignoredResources.includes(name) || ignoredResourceGroups.includes(name.split('/', 1)[0]!))

export const fit =
  (ignored: Ignored): Prepare =>
  (pod, view) => {
    const requests = [...podRequests(pod)].filter(([name]) => !isIgnored(name, ignored))
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
