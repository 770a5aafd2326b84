/** Conditions of the common type (apimachinery, pkg/apis/meta/v1/validation ValidateConditions). */

import { each } from '#api/each.js'
import {
  child,
  duplicate,
  type FieldError,
  invalid,
  notSupported,
  required,
  tooLong,
} from '#api/field-error.js'
import { regexMessage } from '#api/names.js'
import { validQualifiedName } from './formats.js'

interface Condition {
  type?: string
  status?: string
  observedGeneration?: number
  lastTransitionTime?: string | null
  reason?: string
  message?: string
}

const statuses = ['False', 'True', 'Unknown']
const reasonLengthMax = 1024
const messageLengthMax = 32 * 1024

const reasonFormat = '[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?'
const reasonMessage = regexMessage(
  "a condition reason must start with alphabetic character, optionally followed by a string of alphanumeric characters or '_,:', and must end with an alphanumeric character or '_'",
  reasonFormat,
  'my_name',
  'MY_NAME',
  'MyName',
  'ReasonA,ReasonB',
  'ReasonA:ReasonB',
)

const reasonErrors = (path: string, reason: string): FieldError[] => {
  if (reason === '') return [required(path)]
  return [
    ...(new RegExp(`^${reasonFormat}$`).test(reason) ? [] : [invalid(path, reason, reasonMessage)]),
    ...(Buffer.byteLength(reason) > reasonLengthMax ? [tooLong(path, reasonLengthMax)] : []),
  ]
}

const conditionErrors = (condition: Condition, path: string): FieldError[] => {
  const { type = '', status = '', observedGeneration = 0, reason = '', message = '' } = condition
  return [
    ...validQualifiedName(child(path, 'type'), type),
    ...(statuses.includes(status) ? [] : [notSupported(child(path, 'status'), status, statuses)]),
    ...(observedGeneration < 0
      ? [
          invalid(
            child(path, 'observedGeneration'),
            observedGeneration,
            'must be greater than or equal to zero',
          ),
        ]
      : []),
    ...(condition.lastTransitionTime ? [] : [required(child(path, 'lastTransitionTime'))]),
    ...reasonErrors(child(path, 'reason'), reason),
    ...(Buffer.byteLength(message) > messageLengthMax
      ? [tooLong(child(path, 'message'), messageLengthMax)]
      : []),
  ]
}

export const validConditions = (
  path: string,
  conditions: readonly Condition[] | undefined | null,
): FieldError[] => {
  const types = new Set<string>()
  return each(path, conditions, (condition, at) => {
    const { type = '' } = condition
    const repeated = types.has(type) ? [duplicate(child(at, 'type'), type)] : []
    types.add(type)
    return [...repeated, ...conditionErrors(condition, at)]
  })
}
