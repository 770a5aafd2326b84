/** Tolerations of pods and runtime classes (pkg/apis/core/validation ValidateTolerations). */

import { each } from '#api/each.js'
import { child, type FieldError, invalid, notSupported } from '#api/field-error.js'
import { validQualifiedName, validTaintValue } from './formats.js'

export interface Toleration {
  key?: string
  operator?: string
  value?: string
  effect?: string
  tolerationSeconds?: number
}

const effects = ['NoSchedule', 'PreferNoSchedule', 'NoExecute']

const operatorErrors = (toleration: Toleration, path: string): FieldError[] => {
  const { operator = '', value = '' } = toleration
  const at = child(path, 'operator')
  if (operator === 'Equal' || operator === '') return validTaintValue(at, value)
  if (operator === 'Exists')
    return value === ''
      ? []
      : [invalid(at, value, "value must be empty when `operator` is 'Exists'")]
  const known = ['Equal', 'Exists']
  // Upstream offers these to those who ask for one, though their feature is off.
  const comparisons = ['Lt', 'Gt']
  return [
    notSupported(at, operator, comparisons.includes(operator) ? [...known, ...comparisons] : known),
  ]
}

const tolerationErrors = (toleration: Toleration, path: string): FieldError[] => {
  const { key = '', operator = '', effect = '', tolerationSeconds } = toleration
  return [
    ...(key === '' ? [] : validQualifiedName(child(path, 'key'), key)),
    ...(key === '' && operator !== 'Exists'
      ? [
          invalid(
            child(path, 'operator'),
            operator,
            'operator must be Exists when `key` is empty, which means "match all values and all keys"',
          ),
        ]
      : []),
    ...(tolerationSeconds !== undefined && effect !== 'NoExecute'
      ? [
          invalid(
            child(path, 'effect'),
            effect,
            "effect must be 'NoExecute' when `tolerationSeconds` is set",
          ),
        ]
      : []),
    ...operatorErrors(toleration, path),
    ...(effect === '' || effects.includes(effect)
      ? []
      : [notSupported(child(path, 'effect'), effect, effects)]),
  ]
}

export const validTolerations = (path: string, tolerations: readonly Toleration[]): FieldError[] =>
  each(path, tolerations, tolerationErrors)
