/** What a definition's validation rules must be: present, on one line, compiling, and pointing at real fields. */
import { child, type FieldError, index, invalid, notSupported, required } from '#api/field-error.js'
import {
  isObject,
  ownProperty,
  type StructuralSchema,
  type ValidationRule,
  valueSchemaOf,
} from '../structural-schema.js'
import { compileRule, RuleError } from './compile-rule.js'

const reasons = [
  'FieldValueDuplicate',
  'FieldValueForbidden',
  'FieldValueInvalid',
  'FieldValueRequired',
]

/** The rule as upstream's internal type prints. */
const internalRule = (rule: ValidationRule): object => ({
  Rule: rule.rule,
  Message: rule.message ?? '',
  MessageExpression: rule.messageExpression ?? '',
  Reason: rule.reason ?? null,
  FieldPath: rule.fieldPath ?? '',
  OptionalOldSelf: rule.optionalOldSelf ?? null,
})

export const validateRules = (
  schema: StructuralSchema,
  path: string,
  isRoot = true,
): FieldError[] => {
  const errors: FieldError[] = []
  for (const [key, property] of Object.entries(schema.properties ?? {}))
    errors.push(...validateRules(property, index(child(path, 'properties'), key), false))
  const valueSchema = valueSchemaOf(schema)
  if (valueSchema !== undefined)
    errors.push(...validateRules(valueSchema, child(path, 'additionalProperties'), false))
  if (isObject(schema.items))
    errors.push(...validateRules(schema.items as StructuralSchema, child(path, 'items'), false))
  for (const [i, rule] of (schema['x-kubernetes-validations'] ?? []).entries())
    errors.push(
      ...validateRule(rule, schema, index(child(path, 'x-kubernetes-validations'), i), isRoot),
    )
  return errors
}

const hasLineBreak = (text: string): boolean => /[\n\r]/.test(text)

const validateRule = (
  rule: ValidationRule,
  schema: StructuralSchema,
  path: string,
  isRoot: boolean,
): FieldError[] => {
  const errors: FieldError[] = []
  const at = (part: string) => child(path, part)
  if ((rule.rule ?? '').trim() === '') return [required(at('rule'), 'rule is not specified')]
  if (rule.message !== undefined && rule.message.trim() === '' && rule.message !== '')
    errors.push(invalid(at('message'), rule.message, 'message must be non-empty if specified'))
  else if (hasLineBreak((rule.message ?? '').trim()))
    errors.push(invalid(at('message'), rule.message, 'must not contain line breaks'))
  else if (hasLineBreak(rule.rule.trim()) && !rule.message)
    errors.push(required(at('message'), 'message must be specified if rule contains line breaks'))
  if (rule.reason !== undefined && !reasons.includes(rule.reason))
    errors.push(notSupported(at('reason'), rule.reason, reasons))
  if (rule.fieldPath && !leadsToField(schema, rule.fieldPath))
    errors.push(invalid(at('fieldPath'), rule.fieldPath, 'must be a valid path'))
  if (errors.length > 0) return errors
  try {
    compileRule(rule, schema, isRoot)
    return []
  } catch (err) {
    if (!(err instanceof RuleError)) throw err
    return [invalid(at(err.part), internalRule(rule), err.message)]
  }
}

/** True when `.a.b['c']` names a property of the schema. */
const leadsToField = (schema: StructuralSchema, path: string): boolean => {
  const names = [...path.matchAll(/\.([^.[\]]+)|\['((?:\\.|[^'\\])+)'\]/g)].map(
    (m) => m[1] ?? m[2]!,
  )
  if (names.length === 0) return false
  let at: StructuralSchema | undefined = schema
  for (const name of names) at = at && (ownProperty(at.properties, name) ?? valueSchemaOf(at))
  return at !== undefined
}
