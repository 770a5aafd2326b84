import {
  child,
  duplicate,
  type FieldError,
  index,
  invalid,
  notSupported,
  required,
} from '#api/field-error.js'
import type { KubeObject } from '#api/object.js'
import { type PolicyNames, results } from '#cel/policy-environment.js'
import { defineKind } from '#registry/resource-definition.js'
import { validQualifiedName } from '#validation/formats.js'
import { commonPolicyErrors, policyStrategy, sampleConstraints } from './admission-policy.js'
import { expressionErrors, namesOfPolicy } from './expressions.js'

const reasons = ['Forbidden', 'Invalid', 'RequestEntityTooLarge']

interface Validation {
  expression?: string
  message?: string
  messageExpression?: string
  reason?: string
}

const validationErrors = (validation: Validation, path: string, names: PolicyNames) => {
  const { expression = '', message, messageExpression, reason } = validation
  const errors: FieldError[] = []
  if (expression.trim() === '')
    errors.push(required(child(path, 'expression'), 'expression is not specified'))
  errors.push(...expressionErrors(child(path, 'expression'), expression, names, results.boolean))
  errors.push(
    ...expressionErrors(
      child(path, 'messageExpression'),
      messageExpression,
      { ...names, noAuthorizer: true },
      results.text,
    ),
  )
  if (message !== undefined) {
    if (message.trim() === '')
      errors.push(invalid(child(path, 'message'), message, 'must be non-empty if specified'))
    else if (/[\n\r]/.test(message))
      errors.push(invalid(child(path, 'message'), message, 'must not contain line breaks'))
  }
  if (reason !== undefined && !reasons.includes(reason))
    errors.push(notSupported(child(path, 'reason'), reason, reasons))
  return errors
}

const annotationErrors = ({ metadata, spec }: KubeObject, names: PolicyNames): FieldError[] =>
  ((spec.auditAnnotations ?? []) as { key?: string; valueExpression?: string }[]).flatMap(
    ({ key = '', valueExpression = '' }, i, all) => {
      const at = index('spec.auditAnnotations', i)
      const isSecond = all.findIndex((one) => (one.key ?? '') === key) < i
      const full = `${metadata.name ?? ''}/${key}`
      return [
        ...validQualifiedName(child(at, 'key'), full),
        ...(valueExpression.trim() === ''
          ? [required(child(at, 'valueExpression'), 'valueExpression is not specified')]
          : []),
        ...expressionErrors(
          child(at, 'valueExpression'),
          valueExpression.trim(),
          names,
          results.textOrNull,
          valueExpression,
        ),
        ...(isSecond ? [duplicate(child(at, 'key'), key)] : []),
      ]
    },
  )

const validate = (object: KubeObject): FieldError[] => {
  const { spec } = object
  const validations: Validation[] = spec.validations ?? []
  const isEmpty = validations.length === 0 && (spec.auditAnnotations ?? []).length === 0
  const names = namesOfPolicy(object)
  const text = 'validations or auditAnnotations must contain at least one item'
  return [
    ...commonPolicyErrors(object),
    ...(isEmpty
      ? [required('spec.validations', text), required('spec.auditAnnotations', text)]
      : []),
    ...validations.flatMap((v, i) => validationErrors(v, index('spec.validations', i), names)),
    ...annotationErrors(object, names),
  ]
}

export default defineKind({
  group: 'admissionregistration.k8s.io',
  version: 'v1',
  kind: 'ValidatingAdmissionPolicy',
  strategy: policyStrategy(validate, true),
  sample: {
    metadata: { name: 'sample' },
    spec: { matchConstraints: sampleConstraints, validations: [{ expression: 'true' }] },
  },
})
