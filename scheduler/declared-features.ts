/** What a Pod needs that not every kubelet can do: nodes declare it in their status. Upstream: NodeDeclaredFeatures. */
import type { Container, Pod } from '#client/pod.js'
import { type Filter, hopeless } from './filter.js'

const restartsAll = ({ restartPolicyRules = [] }: Container): boolean =>
  restartPolicyRules.some(({ action }) => action === 'RestartAllContainers')

const needed: Readonly<Record<string, (pod: Pod) => boolean>> = {
  RestartAllContainersOnContainerExits: ({ spec }) =>
    [...spec.containers, ...(spec.initContainers ?? [])].some(restartsAll),
  UserNamespacesHostNetworkSupport: ({ spec }) =>
    spec.hostNetwork === true && spec.hostUsers === false,
}

export const declaredFeatures = (pod: Pod): Filter | undefined => {
  const wanted = Object.keys(needed).filter((feature) => needed[feature]!(pod))
  if (wanted.length === 0) return undefined
  return {
    refuse: ({ node }) => {
      const declared = node!.status.declaredFeatures ?? []
      return wanted.every((feature) => declared.includes(feature))
        ? undefined
        : hopeless("node(s) didn't match Pod's required features")
    },
  }
}
