/** Which kinds a policy matches by name: those that its expressions are checked against. */

import { type GroupVersionKind, kindKey } from '#api/group-version.js'
import type { ServedResource } from '#client/discovery.js'
import { compareTexts } from '#go/compare-texts.js'
import { limits } from '#limits'

export interface ResourceRule {
  readonly apiGroups?: readonly string[]
  readonly apiVersions?: readonly string[]
  readonly resources?: readonly string[]
}

/** Nothing of a rule is checked when a group or a version of it is a pattern. */
const exact = (names: readonly string[] = []): readonly string[] =>
  names.some((name) => name.includes('*')) ? [] : names.toSorted()

/** The core group stands for any, as where no group is named; resources may be named in the singular. */
const kindsOf = (
  all: readonly ServedResource[],
  { group, version, resource }: { group: string; version: string; resource: string },
): GroupVersionKind[] => {
  const name = resource.toLowerCase()
  return all.filter(
    (found) =>
      found.version === version &&
      (group === '' || found.group === group) &&
      (found.resource === name || found.singular === name),
  )
}

function* kindsOfRule(
  rule: ResourceRule,
  all: readonly ServedResource[],
): Generator<GroupVersionKind> {
  // Subresources are passed over one by one.
  const resources = (rule.resources ?? []).filter((name) => !/[*/]/.test(name)).sort()
  for (const group of exact(rule.apiGroups))
    for (const version of exact(rule.apiVersions))
      for (const resource of resources) yield* kindsOf(all, { group, version, resource })
}

/** By group, version and kind, each once. */
export const matchedKinds = (
  rules: readonly ResourceRule[],
  all: readonly ServedResource[],
): GroupVersionKind[] => {
  const kinds = new Map<string, GroupVersionKind>()
  const sorted = () =>
    [...kinds.values()].sort(
      (a, b) =>
        compareTexts(a.group, b.group) ||
        compareTexts(a.version, b.version) ||
        compareTexts(a.kind, b.kind),
    )
  for (const rule of rules) {
    let count = 0
    for (const { group, version, kind } of kindsOfRule(rule, all)) {
      const gvk = { group, version, kind }
      kinds.set(kindKey(gvk), gvk)
      if (++count === limits.celKindsCheckedMax) return sorted()
    }
  }
  return sorted()
}
