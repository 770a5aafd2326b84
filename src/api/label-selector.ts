/** metav1.LabelSelector: what controllers, affinities, budgets, policies and webhooks choose objects with. */
import { compareTexts } from '#go/compare-texts.js'
import { sortedEntries } from '#json/entries.js'
import { compareInt64, type Labels } from './selectors.js'

export interface LabelSelectorRequirement {
  readonly key: string
  readonly operator: string
  readonly values?: readonly string[]
}
export interface LabelSelector {
  readonly matchLabels?: Readonly<Record<string, string>>
  readonly matchExpressions?: readonly LabelSelectorRequirement[]
}

/** Gt and Lt are those of node selectors, whose requirements have the same form. */
const operators: Record<string, (value: string | undefined, values: readonly string[]) => boolean> =
  {
    In: (value, values) => value !== undefined && values.includes(value),
    // A missing label is "not in" too.
    NotIn: (value, values) => value === undefined || !values.includes(value),
    Exists: (value) => value !== undefined,
    DoesNotExist: (value) => value === undefined,
    Gt: (value, [bound = '']) => value !== undefined && (compareInt64(value, bound) ?? 0) > 0,
    Lt: (value, [bound = '']) => value !== undefined && (compareInt64(value, bound) ?? 0) < 0,
  }

/** An operator that nobody knows is never met. */
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
  selector: LabelSelector | null | undefined,
  labels: Labels = {},
): boolean =>
  selector !== undefined &&
  selector !== null &&
  matchesLabels(selector.matchLabels ?? {}, labels) &&
  (selector.matchExpressions ?? []).every((r) => matchesRequirement(labels, r))

export const isEmptySelector = (selector: LabelSelector | undefined): boolean =>
  Object.keys(selector?.matchLabels ?? {}).length === 0 &&
  (selector?.matchExpressions ?? []).length === 0

const formatRequirement = ({ key, operator, values = [] }: LabelSelectorRequirement): string => {
  const list = `(${[...values].sort().join(',')})`
  if (operator === 'In') return `${key} in ${list}`
  if (operator === 'NotIn') return `${key} notin ${list}`
  return operator === 'Exists' ? key : `!${key}`
}

/** The text form, as a `labelSelector` parameter and as status.selector of a scale: sorted by key, '' for an empty one. */
export const formatLabelSelector = (selector: LabelSelector | null | undefined): string =>
  [
    ...Object.entries(selector?.matchLabels ?? {}).map(([key, v]) => [key, `${key}=${v}`] as const),
    ...(selector?.matchExpressions ?? []).map((r) => [r.key, formatRequirement(r)] as const),
  ]
    .sort(([a], [b]) => compareTexts(a, b))
    .map(([, text]) => text)
    .join(',')

/** As Go's String() of it, which upstream puts into events and columns. */
export const printLabelSelector = (selector: LabelSelector | null | undefined): string => {
  if (!selector) return 'nil'
  const labels = sortedEntries(selector.matchLabels ?? {}).map(
    ([key, value]) => `${key}: ${value},`,
  )
  const requirements = (selector.matchExpressions ?? []).map(
    ({ key, operator, values = [] }) =>
      `LabelSelectorRequirement{Key:${key},Operator:${operator},Values:[${values.join(' ')}],},`,
  )
  return `&LabelSelector{MatchLabels:map[string]string{${labels.join('')}},MatchExpressions:[]LabelSelectorRequirement{${requirements.join('')}},}`
}
