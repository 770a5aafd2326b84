/**
 * Selectors in access reviews: their validation, and the errors for those that are ignored (kubernetes,
 * pkg/apis/authorization/validation and pkg/registry/authorization/util).
 */
import { child, type FieldError, index, invalid, required } from '#api/field-error.js'
import type { LabelSelectorRequirement } from '#api/label-selector.js'
import {
  type FieldRequirement,
  type LabelOperator,
  type LabelRequirement,
  parseFieldSelector,
  parseLabelSelector,
  SelectorError,
} from '#api/selectors.js'
import { operatorErrors, validRequirement } from '#validation/label-selector.js'
import { fieldRequirements, labelRequirements } from './authorizer.js'
import type { ReviewSelector, ReviewSelectors } from './review-spec.js'

const labelOperators: Readonly<Record<string, LabelOperator>> = {
  In: 'in',
  NotIn: 'notin',
  Exists: 'exists',
  DoesNotExist: '!',
}
const known = Object.keys(labelOperators)
const path = 'spec.resourceAttributes'

/** Operators of newer clients may be unknown here; they are reported in the answer instead. */
const fieldRequirementErrors = (
  at: string,
  requirement: LabelSelectorRequirement,
): FieldError[] => [
  ...(requirement.key ? [] : [required(child(at, 'key'), 'must be specified')]),
  ...(known.includes(requirement.operator) ? operatorErrors(at, requirement) : []),
]
const labelRequirementErrors = (
  at: string,
  requirement: LabelSelectorRequirement,
): FieldError[] => {
  const errors = validRequirement(at, { ...requirement, key: requirement.key ?? '' })
  return known.includes(requirement.operator) ? errors : errors.slice(1)
}

const errorsOf = (
  field: keyof ReviewSelectors,
  selector: ReviewSelector | undefined,
  ofRequirement: typeof labelRequirementErrors,
): FieldError[] => {
  if (selector === undefined) return []
  const at = child(path, field)
  const { rawSelector = '', requirements = [] } = selector
  return [
    ...(rawSelector !== '' && requirements.length > 0
      ? [
          invalid(
            child(at, 'rawSelector'),
            rawSelector,
            'may not specified at the same time as requirements',
          ),
        ]
      : []),
    ...(rawSelector === '' && requirements.length === 0
      ? [
          required(
            child(at, 'requirements'),
            `when ${at} is specified, requirements or rawSelector is required`,
          ),
        ]
      : []),
    ...requirements.flatMap((r, i) => ofRequirement(index(child(at, 'requirements'), i), r)),
  ]
}

export const selectorErrors = (attributes: ReviewSelectors | undefined): FieldError[] => [
  ...errorsOf('fieldSelector', attributes?.fieldSelector, fieldRequirementErrors),
  ...errorsOf('labelSelector', attributes?.labelSelector, labelRequirementErrors),
]

const parses = (parse: (text: string) => unknown, text: string): boolean => {
  try {
    parse(text)
    return true
  } catch (error) {
    if (error instanceof SelectorError) return false
    throw error
  }
}

const complaint = (
  field: keyof ReviewSelectors,
  selector: ReviewSelector | undefined,
  parse: (text: string) => unknown,
  canFollow: (requirement: LabelSelectorRequirement) => boolean,
): string[] => {
  const { rawSelector = '', requirements = [] } = selector ?? {}
  const followed = requirements.filter(canFollow)
  const isWhole =
    rawSelector === '' ? followed.length === requirements.length : parses(parse, rawSelector)
  if (isWhole) return []
  const part = followed.length > 0 ? 'partially ignored' : 'ignored'
  return [`${path}.${field} ${part} due to parse error`]
}

/** Field requirements need exactly one value. */
const isFollowed = ({ operator, values }: LabelSelectorRequirement): boolean =>
  ['In', 'NotIn'].includes(operator) && values?.length === 1

/** The requirements for the authorizer. */
export const followedFields = ({
  rawSelector = '',
  requirements = [],
}: ReviewSelector = {}): readonly FieldRequirement[] =>
  rawSelector === ''
    ? requirements.filter(isFollowed).map(({ key, operator, values }) => ({
        field: key,
        operator: operator === 'In' ? '=' : '!=',
        value: values![0]!,
      }))
    : fieldRequirements(rawSelector)

export const followedLabels = ({
  rawSelector = '',
  requirements = [],
}: ReviewSelector = {}): (() => readonly LabelRequirement[]) =>
  rawSelector === ''
    ? () =>
        requirements
          .filter(({ operator }) => known.includes(operator))
          .map(({ key, operator, values = [] }) => ({
            key,
            operator: labelOperators[operator]!,
            values,
          }))
    : labelRequirements(rawSelector)

/** Empty if no selector is ignored. */
export const selectorComplaints = (attributes: ReviewSelectors | undefined): string =>
  [
    ...complaint('fieldSelector', attributes?.fieldSelector, parseFieldSelector, isFollowed),
    ...complaint('labelSelector', attributes?.labelSelector, parseLabelSelector, ({ operator }) =>
      known.includes(operator),
    ),
  ].join('; ')
