/** Names of upstream's internal types, as its texts have them. */
const packages: Readonly<Record<string, string>> = {
  '': 'core',
  // Events of both groups are the same.
  'events.k8s.io': 'core',
  'internal.apiserver.k8s.io': 'apiserverinternal',
}

/** `core.Pod`, `rbac.ClusterRole` */
export const internalType = (group: string, kind: string): string =>
  `${packages[group] ?? group.split('.')[0]}.${kind}`
