/** Checks of validation rules that do not look at their expressions. */

import { child, type FieldError, index, invalid, notSupported, required } from '#api/field-error.js'
import { once } from '#async/once.js'
import { trimSpace } from '#go/trim-space.js'
import { followFieldPath } from '../field-path.js'
import type { StructuralSchema, ValidationRule } from '../structural-schema.js'

const reasons = [
  'FieldValueDuplicate',
  'FieldValueForbidden',
  'FieldValueInvalid',
  'FieldValueRequired',
]

const hasLineBreak = (text: string): boolean => /[\n\r]/.test(text)

/** `isStructural`: paths are not followed through what upstream's structural type has no place for. */
export const ruleWords = (
  schema: StructuralSchema,
  path: string,
  isStructural: (schema: StructuralSchema) => boolean,
): FieldError[] => {
  const hasForm = once(() => isStructural(schema))
  return (schema['x-kubernetes-validations'] ?? []).flatMap((rule, i) => {
    const at = index(child(path, 'x-kubernetes-validations'), i)
    const errors = wordsOf(rule, at)
    const { fieldPath } = rule
    const isWrong = fieldPath && typeof followFieldPath(schema, fieldPath) === 'string'
    if (isWrong && hasForm())
      errors.push(invalid(child(at, 'fieldPath'), fieldPath, 'must be a valid path'))
    return errors
  })
}

const textErrors = (rule: ValidationRule, at: (part: string) => string): FieldError[] => {
  const text = trimSpace(rule.rule ?? '')
  const message = trimSpace(rule.message ?? '')
  if (text === '') return [required(at('rule'), 'rule is not specified')]
  if (rule.message && message === '')
    return [invalid(at('message'), rule.message, 'must be non-empty if specified')]
  if (hasLineBreak(message))
    return [invalid(at('message'), rule.message, 'must not contain line breaks')]
  return hasLineBreak(text) && message === ''
    ? [required(at('message'), 'message must be specified if rule contains line breaks')]
    : []
}

const wordsOf = (rule: ValidationRule, path: string): FieldError[] => {
  const at = (part: string) => child(path, part)
  const errors = textErrors(rule, at)
  const { messageExpression, reason, fieldPath } = rule
  if (messageExpression && trimSpace(messageExpression) === '')
    errors.push(
      required(at('messageExpression'), 'messageExpression must be non-empty if specified'),
    )
  if (reason !== undefined && !reasons.includes(reason))
    errors.push(notSupported(at('reason'), reason, reasons))
  if (!fieldPath) return errors
  if (trimSpace(fieldPath) === '')
    errors.push(invalid(at('fieldPath'), fieldPath, 'must be non-empty if specified'))
  if (hasLineBreak(fieldPath))
    errors.push(invalid(at('fieldPath'), fieldPath, 'must not contain line breaks'))
  return errors
}
