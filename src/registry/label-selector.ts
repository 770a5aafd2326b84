/** metav1.LabelSelector, as it stands in objects, against labels. */
import { type LabelRequirement, type Labels, matchesLabels } from '#api/selectors.js'

export interface LabelSelector {
  matchLabels?: Record<string, string>
  matchExpressions?: { key: string; operator: string; values?: string[] }[]
}

const operators: Readonly<Record<string, LabelRequirement['operator']>> = {
  In: 'in',
  NotIn: 'notin',
  Exists: 'exists',
  DoesNotExist: '!',
}

/** Undefined for a selector with an operator that nobody knows: it matches nothing. */
const requirementsOf = (selector: LabelSelector): LabelRequirement[] | undefined => {
  const requirements: LabelRequirement[] = Object.entries(selector.matchLabels ?? {}).map(
    ([key, value]) => ({ key, operator: '=', values: [value] }),
  )
  for (const { key, operator, values = [] } of selector.matchExpressions ?? []) {
    const known = Object.hasOwn(operators, operator) ? operators[operator] : undefined
    if (known === undefined) return undefined
    requirements.push({ key, operator: known, values })
  }
  return requirements
}

/** A missing selector matches nothing, an empty one everything. */
export const selectorMatches = (
  selector: LabelSelector | null | undefined,
  labels: Labels | undefined,
): boolean => {
  if (selector === null || selector === undefined) return false
  const requirements = requirementsOf(selector)
  return requirements !== undefined && matchesLabels(requirements, labels)
}
