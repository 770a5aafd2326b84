/** Which objects the scopes of a quota leave in (kubernetes, pkg/quota/v1/evaluator/core). */
import { attributesClassesOf } from '../attributes-classes.js'
import { formatGroupResource, type GroupResource } from '../group-version.js'
import type { KubeObject } from '../object.js'
import { podQos } from '../pod-qos.js'
import { isTerminating } from './pod-usage.js'

export interface ScopeRequirement {
  readonly scopeName: string
  readonly operator: string
  readonly values?: readonly string[]
}
type Matches = (object: KubeObject, requirement: ScopeRequirement) => boolean

/** Like a label selector, with the name as the only label: a missing name matches none but DoesNotExist and NotIn. */
const matchesName = (
  name: string | undefined,
  { operator, values = [] }: ScopeRequirement,
): boolean => {
  if (operator === 'Exists') return name !== undefined
  if (operator === 'DoesNotExist') return name === undefined
  return (name !== undefined && values.includes(name)) === (operator === 'In')
}

const isBestEffort = ({ spec }: KubeObject): boolean => podQos(spec) === 'BestEffort'

const usesOtherNamespaces = ({ spec }: KubeObject): boolean =>
  ['podAffinity', 'podAntiAffinity'].some((kind) => {
    const affinity = spec.affinity?.[kind] ?? {}
    const terms = [
      ...(affinity.requiredDuringSchedulingIgnoredDuringExecution ?? []),
      ...(affinity.preferredDuringSchedulingIgnoredDuringExecution ?? []).map(
        (w: { podAffinityTerm: object }) => w.podAffinityTerm,
      ),
    ]
    return terms.some((t) => (t.namespaces ?? []).length > 0 || t.namespaceSelector !== undefined)
  })

const matchesAttributesClass: Matches = (claim, requirement) => {
  const names = attributesClassesOf(claim)
  return names.length === 0
    ? matchesName(undefined, requirement)
    : names.some((name) => matchesName(name, requirement))
}

const scopesOf: Readonly<Record<string, Readonly<Record<string, Matches>>>> = {
  pods: {
    Terminating: isTerminating,
    NotTerminating: (pod) => !isTerminating(pod),
    BestEffort: isBestEffort,
    NotBestEffort: (pod) => !isBestEffort(pod),
    PriorityClass: ({ spec }, requirement) =>
      matchesName(spec.priorityClassName || undefined, requirement),
    CrossNamespacePodAffinity: usesOtherNamespaces,
  },
  persistentvolumeclaims: { VolumeAttributesClass: matchesAttributesClass },
}

/** The scopes that a quota names. */
export const requirementsOf = ({ spec }: KubeObject): ScopeRequirement[] => [
  ...(spec?.scopes ?? []).map((scopeName: string) => ({ scopeName, operator: 'Exists' })),
  ...(spec?.scopeSelector?.matchExpressions ?? []),
]

/** Those of them that hold for the object. */
export const matchingScopes = (
  resource: GroupResource,
  object: KubeObject,
  requirements: readonly ScopeRequirement[],
): ScopeRequirement[] => {
  const known = scopesOf[formatGroupResource(resource)]
  return requirements.filter((r) => known?.[r.scopeName]?.(object, r) ?? false)
}

/** Whether a quota is about this object: all of its scopes must hold. */
export const isInScope = (
  resource: GroupResource,
  object: KubeObject,
  quota: KubeObject,
): boolean => {
  const requirements = requirementsOf(quota)
  return matchingScopes(resource, object, requirements).length === requirements.length
}
