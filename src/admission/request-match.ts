/** Whether a request is one that a webhook or a policy asked for (apiserver, pkg/admission/plugin/webhook/predicates). */
import { formatGroupVersion, type GroupVersionKind } from '#api/group-version.js'
import { isEmptySelector, type LabelSelector, matchesSelector } from '#api/label-selector.js'
import type { KubeObject } from '#api/object.js'
import type { AdmissionAttributes } from '#registry/admission.js'
import type { ResourceDefinition } from '#registry/resource-definition.js'
import type { MatchRule } from './match-rule.js'
import { existingNamespace, isAboutNamespace } from './plugin.js'
import type { EquivalentsOf, VersionedRequest } from './versioned-request.js'

interface MatchTerms {
  namespaceSelector?: LabelSelector
  objectSelector?: LabelSelector
  /** Missing: every request. */
  resourceRules?: MatchRule[]
  excludeResourceRules?: MatchRule[]
  /** `Equivalent`: a rule is about the other versions of its resource, too. */
  matchPolicy?: string
}

type Labels = Readonly<Record<string, string>>

const covers = (patterns: readonly string[] | undefined, value: string): boolean =>
  (patterns ?? []).some((pattern) => pattern === '*' || pattern === value)

// `pods`, `pods/status`, `*/status`, `*/*`: a plain `*` means every main resource.
const coversResource = (patterns: readonly string[] | undefined, resource: string, sub: string) =>
  (patterns ?? []).some((pattern) => {
    const [wanted = '', wantedSub = ''] = pattern.split('/')
    const named = wanted === '*' || wanted === resource
    return named && (wantedSub === '*' || wantedSub === sub)
  })

const ruleMatches = (
  rule: MatchRule,
  attributes: AdmissionAttributes,
  { gvr: resource }: ResourceDefinition,
): boolean => {
  const { operation, subresource, definition, name } = attributes
  const names = rule.resourceNames ?? []
  const scope = rule.scope ?? '*'
  return (
    covers(rule.operations, operation) &&
    covers(rule.apiGroups, resource.group) &&
    covers(rule.apiVersions, resource.version) &&
    coversResource(rule.resources, resource.resource, subresource) &&
    (scope === '*' || (scope === 'Namespaced') === definition.namespaced) &&
    (names.length === 0 || names.includes(name))
  )
}

const labelsOf = (object: KubeObject | undefined): Labels => object?.metadata?.labels ?? {}

/** Throws a 404 for a namespace that is gone: it cannot be said whether it was selected (predicates/namespace). */
const namespaceLabels = async (attributes: AdmissionAttributes): Promise<Labels> =>
  labelsOf(
    isAboutNamespace(attributes)
      ? (attributes.object ?? attributes.oldObject)
      : await existingNamespace(attributes),
  )

const hasSubresource = (definition: ResourceDefinition, subresource: string): boolean =>
  subresource === '' ||
  (subresource === 'status' && definition.hasStatus) ||
  definition.subresources.some(({ name }) => name === subresource)

/** The version of the resource that the rules name: that of the request before all others. */
const matchedBy = (
  rules: readonly MatchRule[],
  { matchPolicy }: MatchTerms,
  attributes: AdmissionAttributes,
  equivalentsOf: EquivalentsOf,
): ResourceDefinition | undefined => {
  const { definition, subresource } = attributes
  if (rules.some((rule) => ruleMatches(rule, attributes, definition))) return definition
  if (matchPolicy !== 'Equivalent' || rules.length === 0) return undefined
  const others = equivalentsOf(definition)
    .filter((other) => hasSubresource(other, subresource))
    .filter(({ gvr }) => formatGroupVersion(gvr) !== formatGroupVersion(definition.gvr))
  for (const rule of rules)
    for (const other of others) if (ruleMatches(rule, attributes, other)) return other
  return undefined
}

/** The version in which the request is meant; undefined when it is not. Throws a 404 for a selector of a namespace that is gone. */
export const matchesRequest = async (
  terms: MatchTerms,
  attributes: AdmissionAttributes,
  equivalentsOf: EquivalentsOf,
): Promise<ResourceDefinition | undefined> => {
  const { object, oldObject, namespace, definition } = attributes
  const { resourceRules, excludeResourceRules = [] } = terms
  const by = (rules: readonly MatchRule[]) => matchedBy(rules, terms, attributes, equivalentsOf)
  const matched = resourceRules === undefined ? definition : by(resourceRules)
  if (matched === undefined || by(excludeResourceRules) !== undefined) return undefined
  const objects = [object, oldObject].filter((o) => o !== undefined)
  const isSelected = objects.some((o) => matchesSelector(terms.objectSelector ?? {}, labelsOf(o)))
  if (objects.length > 0 && !isSelected) return undefined
  if (namespace === '' && !isAboutNamespace(attributes)) return matched
  const { namespaceSelector } = terms
  if (isEmptySelector(namespaceSelector)) return matched
  const labels = await namespaceLabels(attributes)
  return matchesSelector(namespaceSelector!, labels) ? matched : undefined
}

const inGoOrder = ({ group, version, kind }: GroupVersionKind): GroupVersionKind => ({
  group,
  version,
  kind,
})

/** `request` as policies and webhooks see it. */
export const admissionRequest = (attributes: VersionedRequest, uid: string) => {
  const { kind, resource, subresource, operation, namespace, ctx, options, original } = attributes
  const { name, uid: userUid, groups, extra } = ctx.user
  return {
    uid,
    kind: inGoOrder(kind),
    resource,
    ...(subresource === '' ? {} : { subResource: subresource }),
    requestKind: inGoOrder(original.kind),
    requestResource: original.resource,
    ...(subresource === '' ? {} : { requestSubResource: subresource }),
    ...(attributes.name === '' ? {} : { name: attributes.name }),
    ...(namespace === '' ? {} : { namespace }),
    operation,
    userInfo: {
      username: name,
      ...(userUid === undefined ? {} : { uid: userUid }),
      groups: [...groups],
      ...(extra === undefined ? {} : { extra }),
    },
    dryRun: ctx.dryRun,
    options: options(),
  }
}
