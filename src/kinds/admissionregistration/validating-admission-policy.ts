import { each, makeRepeatCheck } from '#api/each.js'
import {
  child,
  duplicate,
  type FieldError,
  invalid,
  notSupported,
  required,
} from '#api/field-error.js'
import type { KubeObject } from '#api/object.js'
import { type PolicyNames, results } from '#cel/policy-environment.js'
import { trimSpace } from '#go/trim-space.js'
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

/** Given, and nothing but spaces. */
const isBlank = (text: string | undefined): boolean =>
  text !== undefined && text !== '' && trimSpace(text) === ''

const validationErrors = (validation: Validation, path: string, names: PolicyNames) => {
  const { expression = '', message, messageExpression, reason } = validation
  const errors: FieldError[] = []
  if (trimSpace(expression) === '')
    errors.push(required(child(path, 'expression'), 'expression is not specified'))
  errors.push(...expressionErrors(child(path, 'expression'), expression, names, results.boolean))
  const withoutAuthorizer = { ...names, noAuthorizer: true }
  const at = child(path, 'messageExpression')
  if (isBlank(messageExpression))
    errors.push(invalid(at, messageExpression, 'must be non-empty if specified'))
  else errors.push(...expressionErrors(at, messageExpression, withoutAuthorizer, results.text))
  if (isBlank(message))
    errors.push(invalid(child(path, 'message'), message, 'must be non-empty if specified'))
  else if (/[\n\r]/.test(trimSpace(message ?? '')))
    errors.push(invalid(child(path, 'message'), message, 'must not contain line breaks'))
  if (reason !== undefined && !reasons.includes(reason))
    errors.push(notSupported(child(path, 'reason'), reason, reasons))
  return errors
}

interface AuditAnnotation {
  key?: string
  valueExpression?: string
}

const annotationsMax = 20
const annotationValueBytesMax = 5 * 1024

const annotationErrors = (
  { key = '', valueExpression = '' }: AuditAnnotation,
  path: string,
  policy: { name: string; names: PolicyNames },
): FieldError[] => {
  const errors = policy.name
    ? validQualifiedName(child(path, 'key'), `${policy.name}/${key}`)
    : [invalid(child(path, 'key'), key, 'requires metadata.name be non-empty')]
  const at = child(path, 'valueExpression')
  const trimmed = trimSpace(valueExpression)
  if (trimmed === '') errors.push(required(at, 'valueExpression is not specified'))
  else if (Buffer.byteLength(trimmed) > annotationValueBytesMax)
    errors.push(required(at, `must not exceed ${annotationValueBytesMax} bytes in length`))
  else
    errors.push(...expressionErrors(at, trimmed, policy.names, results.textOrNull, valueExpression))
  return errors
}

const allAnnotationErrors = ({ metadata, spec }: KubeObject, names: PolicyNames): FieldError[] => {
  const annotations = (spec.auditAnnotations ?? []) as readonly AuditAnnotation[]
  const path = 'spec.auditAnnotations'
  const errors: FieldError[] = []
  if (annotations.length > annotationsMax) {
    const internal = annotations.map(({ key = '', valueExpression = '' }) => ({
      Key: key,
      ValueExpression: valueExpression,
    }))
    const why = `must not have more than ${annotationsMax} auditAnnotations`
    errors.push(invalid(path, internal, why))
  }
  const isRepeated = makeRepeatCheck()
  const policy = { name: metadata.name ?? '', names }
  const ofEach = each(path, annotations, (annotation, at) => {
    const { key = '' } = annotation
    return [
      ...annotationErrors(annotation, at, policy),
      ...(isRepeated(key) ? [duplicate(child(at, 'key'), key)] : []),
    ]
  })
  return [...errors, ...ofEach]
}

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
    ...each('spec.validations', validations, (v, at) => validationErrors(v, at, names)),
    ...allAnnotationErrors(object, names),
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
