/** Labels and label selectors inside specs (apimachinery, pkg/apis/meta/v1/validation). */
import { each, eachEntry } from '#api/each.js'
import { child, type FieldError, forbidden, invalid, required } from '#api/field-error.js'
import type { LabelSelector, LabelSelectorRequirement } from '#api/label-selector.js'
import { validLabelValue, validQualifiedName } from './formats.js'

/** Upstream reports keys and values alike at the path of the map. */
export const validLabels = (
  path: string,
  labels: Readonly<Record<string, string>> | undefined,
): FieldError[] =>
  eachEntry(path, labels, (key, value) => [
    ...validQualifiedName(path, key),
    ...validLabelValue(path, value),
  ])

export const notOperator = 'not a valid selector operator'

export const operatorErrors = (
  path: string,
  { operator, values = [] }: Pick<LabelSelectorRequirement, 'operator' | 'values'>,
): FieldError[] => {
  switch (operator) {
    case 'In':
    case 'NotIn':
      return values.length > 0
        ? []
        : [required(child(path, 'values'), "must be specified when `operator` is 'In' or 'NotIn'")]
    case 'Exists':
    case 'DoesNotExist':
      return values.length === 0
        ? []
        : [
            forbidden(
              child(path, 'values'),
              "may not be specified when `operator` is 'Exists' or 'DoesNotExist'",
            ),
          ]
    default:
      return [invalid(child(path, 'operator'), operator, notOperator)]
  }
}

export const validRequirement = (
  path: string,
  requirement: LabelSelectorRequirement,
): FieldError[] => [
  ...operatorErrors(path, requirement),
  ...validQualifiedName(child(path, 'key'), requirement.key),
  ...each(child(path, 'values'), requirement.values, (value, at) => validLabelValue(at, value)),
]

export const validLabelSelector = (
  path: string,
  selector: LabelSelector | null | undefined,
): FieldError[] => [
  ...validLabels(child(path, 'matchLabels'), selector?.matchLabels),
  ...each(child(path, 'matchExpressions'), selector?.matchExpressions, (expression, at) =>
    validRequirement(at, expression),
  ),
]
