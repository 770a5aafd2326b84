import type { JsonObject } from '#json/value.js'
import type { ValidationRule } from '../structural-schema.js'

/** The rule as upstream's internal type prints: with every field, by its name in Go. */
export const internalRule = (rule: ValidationRule): JsonObject => ({
  Rule: rule.rule ?? '',
  Message: rule.message ?? '',
  MessageExpression: rule.messageExpression ?? '',
  Reason: rule.reason ?? null,
  FieldPath: rule.fieldPath ?? '',
  OptionalOldSelf: rule.optionalOldSelf ?? null,
})
