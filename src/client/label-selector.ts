/** metav1.LabelSelector: what controllers, affinities and budgets choose objects with. */

export interface LabelSelectorRequirement {
  key: string
  operator: string
  values?: string[]
}
export interface LabelSelector {
  matchLabels?: Record<string, string>
  matchExpressions?: LabelSelectorRequirement[]
}
type Labels = Readonly<Record<string, string>>

const operators: Record<string, (value: string | undefined, values: readonly string[]) => boolean> =
  {
    In: (value, values) => value !== undefined && values.includes(value),
    // A missing label is "not in" too.
    NotIn: (value, values) => value === undefined || !values.includes(value),
    Exists: (value) => value !== undefined,
    DoesNotExist: (value) => value === undefined,
    Gt: (value, values) => value !== undefined && Number(value) > Number(values[0]),
    Lt: (value, values) => value !== undefined && Number(value) < Number(values[0]),
  }

export const matchesRequirement = (
  labels: Labels,
  { key, operator, values = [] }: LabelSelectorRequirement,
): boolean =>
  operators[operator]?.(Object.hasOwn(labels, key) ? labels[key] : undefined, values) ?? false

export const matchesLabels = (wanted: Labels, labels: Labels = {}): boolean =>
  Object.entries(wanted).every(
    ([key, value]) => Object.hasOwn(labels, key) && labels[key] === value,
  )

/** A missing selector matches nothing, an empty one everything. */
export const matchesSelector = (
  selector: LabelSelector | undefined,
  labels: Labels = {},
): boolean =>
  selector !== undefined &&
  matchesLabels(selector.matchLabels ?? {}, labels) &&
  (selector.matchExpressions ?? []).every((r) => matchesRequirement(labels, r))

export const isEmptySelector = (selector: LabelSelector | undefined): boolean =>
  Object.keys(selector?.matchLabels ?? {}).length === 0 &&
  (selector?.matchExpressions ?? []).length === 0

/** The text form, as a `labelSelector` parameter and as status.selector of scale. Sorted by key as upstream. */
export const formatSelector = (selector: LabelSelector): string => {
  const parts: [string, string][] = Object.entries(selector.matchLabels ?? {}).map(([k, v]) => [
    k,
    `${k}=${v}`,
  ])
  for (const { key, operator, values = [] } of selector.matchExpressions ?? []) {
    const list = `(${[...values].sort().join(',')})`
    if (operator === 'In') parts.push([key, `${key} in ${list}`])
    else if (operator === 'NotIn') parts.push([key, `${key} notin ${list}`])
    else parts.push([key, operator === 'Exists' ? key : `!${key}`])
  }
  parts.sort((a, b) => (a[0] < b[0] ? -1 : a[0] > b[0] ? 1 : 0))
  return parts.map(([, text]) => text).join(',')
}
