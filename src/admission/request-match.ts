/** Whether a request is one that a webhook or a policy asked for (apiserver, pkg/admission/plugin/webhook/predicates). */
import { type LabelSelector, matchesSelector } from '#api/label-selector.js'
import type { KubeObject } from '#api/object.js'
import type { AdmissionAttributes } from '#registry/admission.js'
import type { MatchRule } from './match-rule.js'
import { findNamespace, isAboutNamespace } from './plugin.js'

export interface MatchTerms {
  namespaceSelector?: LabelSelector
  objectSelector?: LabelSelector
  resourceRules?: MatchRule[]
  excludeResourceRules?: MatchRule[]
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

const ruleMatches = (rule: MatchRule, attributes: AdmissionAttributes): boolean => {
  const { operation, resource, subresource, definition, name } = attributes
  const names = rule.resourceNames ?? []
  const scope = rule.scope ?? '*'
  return (
    covers(rule.operations, operation) &&
    covers(rule.apiGroups, resource.group) &&
    covers(rule.apiVersions, resource.version) &&
    coversResource(rule.resources, resource.resource, subresource) &&
    (scope === '*' || (scope === 'Namespaced') === definition.namespaced) &&
    (names.length === 0 || names.includes(name || (attributes.object?.metadata?.name ?? '')))
  )
}

const labelsOf = (object: KubeObject | undefined): Labels => object?.metadata?.labels ?? {}

const namespaceLabels = async (attributes: AdmissionAttributes): Promise<Labels> =>
  labelsOf(
    isAboutNamespace(attributes)
      ? (attributes.object ?? attributes.oldObject)
      : await findNamespace(attributes),
  )

/** Kinds that decide over admission are never subject to it, or nobody could undo a mistake. */
const isExempt = ({ resource }: AdmissionAttributes): boolean =>
  resource.group === 'admissionregistration.k8s.io' &&
  /^(validating|mutating)/.test(resource.resource)

export const matchesRequest = async (
  terms: MatchTerms,
  attributes: AdmissionAttributes,
): Promise<boolean> => {
  if (isExempt(attributes)) return false
  const { object, oldObject, namespace } = attributes
  const any = (rules: MatchRule[] | undefined): boolean =>
    (rules ?? []).some((rule) => ruleMatches(rule, attributes))
  if (!any(terms.resourceRules) || any(terms.excludeResourceRules)) return false
  const objects = [object, oldObject].filter((o) => o !== undefined)
  const isSelected = objects.some((o) => matchesSelector(terms.objectSelector ?? {}, labelsOf(o)))
  if (objects.length > 0 && !isSelected) return false
  if (namespace === '' && !isAboutNamespace(attributes)) return true
  return matchesSelector(terms.namespaceSelector ?? {}, await namespaceLabels(attributes))
}

/** `request` as policies and webhooks see it. */
export const admissionRequest = (attributes: AdmissionAttributes, uid: string) => {
  const { kind, resource, subresource, operation, namespace, ctx, options } = attributes
  const { name, uid: userUid, groups, extra } = ctx.user
  return {
    uid,
    kind,
    resource,
    ...(subresource === '' ? {} : { subResource: subresource }),
    requestKind: kind,
    requestResource: resource,
    ...(subresource === '' ? {} : { requestSubResource: subresource }),
    name: attributes.name || (attributes.object?.metadata?.name ?? ''),
    ...(namespace === '' ? {} : { namespace }),
    operation,
    userInfo: {
      username: name,
      ...(userUid === undefined ? {} : { uid: userUid }),
      groups: [...groups],
      ...(extra === undefined ? {} : { extra }),
    },
    dryRun: ctx.dryRun,
    options,
  }
}
