import { each, makeRepeatCheck } from '#api/each.js'
import { duplicate, type FieldError, invalid, notSupported, required } from '#api/field-error.js'
import type { KubeObject } from '#api/object.js'
import { defineKind } from '#registry/resource-definition.js'
import { bindingStrategy } from './admission-policy.js'

const actions = ['Audit', 'Deny', 'Warn']

const actionErrors = (spec: KubeObject['spec']): FieldError[] => {
  const path = 'spec.validationActions'
  const given: string[] = spec.validationActions ?? []
  if (given.length === 0) return [required(path, 'at least one validation action is required')]
  const isRepeated = makeRepeatCheck()
  const errors = each(path, given, (action, at) => [
    ...(actions.includes(action) ? [] : [notSupported(at, action, actions)]),
    ...(isRepeated(action) ? [duplicate(at, action)] : []),
  ])
  return given.includes('Deny') && given.includes('Warn')
    ? [
        ...errors,
        invalid(
          path,
          given,
          'must not contain both Deny and Warn (repeating the same validation failure information in the API response and headers serves no purpose)',
        ),
      ]
    : errors
}

export default defineKind({
  group: 'admissionregistration.k8s.io',
  version: 'v1',
  kind: 'ValidatingAdmissionPolicyBinding',
  strategy: bindingStrategy(actionErrors),
  sample: {
    metadata: { name: 'sample' },
    spec: { policyName: 'sample', validationActions: ['Audit'] },
  },
})
