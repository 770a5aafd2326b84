/** Facts about a Pod for its own containers: fieldRef and resourceFieldRef of env and of downward API volumes. */
import { goQuote } from '#go/quote.js'
import { sortedEntries } from '#json/entries.js'
import { getOwn } from '#json/object.js'
import type { ContainerSpec, Pod } from './pod.js'
import { amountOf } from './resource-amount.js'

export interface PodFacts {
  readonly pod: Pod
  readonly podIps: readonly string[]
  readonly nodeAddress: string
  /** Limits that a container has without setting any: the node's allocatable. */
  readonly allocatable: Readonly<Record<string, string>>
}

/** One line a pair, sorted, as downward API files hold maps. */
const formatMap = (map: Record<string, string> | undefined): string =>
  sortedEntries(map ?? {})
    .map(([key, value]) => `${key}=${goQuote(value)}`)
    .join('\n')

/** Undefined for a path that the API would not have accepted. */
export const fieldValue = (facts: PodFacts, fieldPath: string): string | undefined => {
  const { pod, podIps, nodeAddress } = facts
  const { metadata, spec } = pod
  const subscript = /^metadata\.(labels|annotations)\['(.*)'\]$/.exec(fieldPath)
  if (subscript)
    return getOwn(metadata[subscript[1] as 'labels' | 'annotations'], subscript[2]!) ?? ''
  const fields: Record<string, () => string> = {
    'metadata.name': () => metadata.name,
    'metadata.namespace': () => metadata.namespace,
    'metadata.uid': () => metadata.uid,
    'metadata.labels': () => formatMap(metadata.labels),
    'metadata.annotations': () => formatMap(metadata.annotations),
    'spec.nodeName': () => spec.nodeName ?? '',
    'spec.serviceAccountName': () => spec.serviceAccountName ?? '',
    'status.hostIP': () => nodeAddress,
    'status.hostIPs': () => nodeAddress,
    'status.podIP': () => podIps[0] ?? '',
    'status.podIPs': () => podIps.join(','),
  }
  return fields[fieldPath]?.()
}

/** Value of `limits.cpu` and the like in units of the divisor, rounded up. */
export const resourceValue = (
  facts: PodFacts,
  container: ContainerSpec,
  ref: { resource: string; divisor?: string | number },
): string => {
  const [list = '', ...rest] = ref.resource.split('.')
  const name = rest.join('.')
  const { limits, requests } = container.resources ?? {}
  const amount =
    (list === 'limits' ? limits?.[name] : requests?.[name]) ??
    (list === 'limits' ? facts.allocatable[name] : 0) ??
    0
  const divisor = amountOf(ref.divisor ?? 1) || 1
  return String(Math.ceil(amountOf(amount) / divisor - 1e-9))
}
