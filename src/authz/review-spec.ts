/** The spec of a SubjectAccessReview, and what a webhook is asked in it (apiserver, plugin/pkg/authorizer/webhook). */
import type { LabelSelectorRequirement } from '#api/label-selector.js'
import type { FieldRequirement, LabelRequirement } from '#api/selectors.js'
import type { Attributes } from './authorizer.js'

export interface ReviewSelector {
  readonly rawSelector?: string
  readonly requirements?: readonly LabelSelectorRequirement[]
}

export interface ReviewSelectors {
  readonly fieldSelector?: ReviewSelector
  readonly labelSelector?: ReviewSelector
}

export interface ReviewSpec {
  readonly resourceAttributes?: ReviewSelectors & {
    readonly namespace?: string
    readonly verb?: string
    readonly group?: string
    readonly version?: string
    readonly resource?: string
    readonly subresource?: string
    readonly name?: string
  }
  readonly nonResourceAttributes?: { readonly path?: string; readonly verb?: string }
  readonly user?: string
  readonly groups?: readonly string[]
  readonly extra?: Readonly<Record<string, readonly string[]>>
  readonly uid?: string
}

const fieldRequirement = ({
  field,
  operator,
  value,
}: FieldRequirement): LabelSelectorRequirement => ({
  key: field,
  operator: operator === '=' ? 'In' : 'NotIn',
  values: [value],
})

const labelOperators: Readonly<Record<string, string>> = {
  '=': 'In',
  '==': 'In',
  in: 'In',
  '!=': 'NotIn',
  notin: 'NotIn',
  exists: 'Exists',
  '!': 'DoesNotExist',
}

/** Reviews have no operator for comparisons, so these are left out, and the review asks for more. */
const labelRequirements = (requirements: readonly LabelRequirement[]): LabelSelectorRequirement[] =>
  requirements.flatMap(({ key, operator: given, values }) => {
    const operator = labelOperators[given]
    return operator === undefined ? [] : [{ key, operator, ...(values.length > 0 && { values }) }]
  })

const selectorOf = (
  requirements: readonly LabelSelectorRequirement[],
): ReviewSelector | undefined => (requirements.length === 0 ? undefined : { requirements })

/** What is empty is left out; fields are in Go's order. */
export const reviewSpecOf = (a: Attributes): ReviewSpec => {
  const { name, groups, extra, uid } = a.user
  const fieldSelector = selectorOf((a.fieldSelector ?? []).map(fieldRequirement))
  const labelSelector = selectorOf(labelRequirements(a.labelSelector?.() ?? []))
  const { path, verb } = a
  return {
    ...(a.isResourceRequest
      ? {
          resourceAttributes: {
            ...(a.namespace && { namespace: a.namespace }),
            ...(verb && { verb }),
            ...(a.apiGroup && { group: a.apiGroup }),
            ...(a.apiVersion && { version: a.apiVersion }),
            ...(a.resource && { resource: a.resource }),
            ...(a.subresource && { subresource: a.subresource }),
            ...(a.name && { name: a.name }),
            ...(fieldSelector && { fieldSelector }),
            ...(labelSelector && { labelSelector }),
          },
        }
      : { nonResourceAttributes: { ...(path && { path }), ...(verb && { verb }) } }),
    ...(name && { user: name }),
    ...(groups.length > 0 && { groups }),
    ...(extra && Object.keys(extra).length > 0 && { extra }),
    ...(uid && { uid }),
  }
}
