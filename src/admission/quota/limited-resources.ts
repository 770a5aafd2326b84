/**
 * Resources that may only be used where a quota limits them (apiserver, pkg/admission/plugin/resourcequota/controller.go
 * CheckRequest).
 */
import { failure } from '#api/errors.js'
import type { KubeObject } from '#api/object.js'
import type { Usage } from '#api/quota/pod-usage.js'
import { matchingScopes, requirementsOf, type ScopeRequirement } from '#api/quota/scopes.js'
import type { WriteAttributes } from '#registry/admission.js'
import { refuse } from '../plugin.js'

export interface LimitedResource {
  readonly apiGroup?: string
  readonly resource: string
  /** Parts of the names of what is limited. */
  readonly matchContains?: readonly string[]
  readonly matchScopes?: readonly ScopeRequirement[]
}

/** As Go's %v shows them. */
const printed = (scopes: readonly ScopeRequirement[]): string =>
  scopes
    .map(
      ({ scopeName, operator, values = [] }) => `{${scopeName} ${operator} [${values.join(' ')}]}`,
    )
    .join(' ')

const limitedNames = (
  { resource }: WriteAttributes,
  usage: Usage,
  limited: readonly LimitedResource[],
): string[] => {
  const parts = limited
    .filter((one) => one.resource === resource.resource && (one.apiGroup ?? '') === resource.group)
    .flatMap(({ matchContains = [] }) => matchContains)
  return Object.keys(usage).filter((name) => parts.some((part) => name.includes(part)))
}

/**
 * `usage` has no zeros. `bounded`: resources that matching quotas of the namespace limit. Throws unless all limited
 * resources are among them.
 */
export const checkLimited = (
  attributes: WriteAttributes,
  limited: readonly LimitedResource[],
  {
    usage,
    bounded,
    quotas,
  }: { usage: Usage; bounded: ReadonlySet<string>; quotas: readonly KubeObject[] },
): void => {
  const names = limitedNames(attributes, usage, limited).filter((name) => !bounded.has(name))
  if (names.length > 0)
    throw refuse(attributes, `insufficient quota to consume: ${names.sort().join(',')}`)
  const { resource, object } = attributes
  const matching = (scopes: readonly ScopeRequirement[]) => matchingScopes(resource, object, scopes)
  const scopes = limited.flatMap(({ matchScopes = [] }) => matching(matchScopes))
  if (scopes.length === 0) return
  const covered = new Set(
    quotas.flatMap((quota) => matching(requirementsOf(quota))).map((s) => s.scopeName),
  )
  const uncovered = scopes.filter(({ scopeName }) => !covered.has(scopeName))
  if (uncovered.length > 0)
    throw failure({
      code: 500,
      message: `insufficient quota to match these scopes: [${printed(uncovered)}]`,
    })
}
