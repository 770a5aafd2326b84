import { each } from '#api/each.js'
import { child, type FieldError, invalid, notSupported, required } from '#api/field-error.js'
import type { KubeObject } from '#api/object.js'
import { type PolicyNames, results } from '#cel/policy-environment.js'
import { trimSpace } from '#go/trim-space.js'
import { defineKind } from '#registry/resource-definition.js'
import { commonPolicyErrors, policyStrategy, sampleConstraints } from './admission-policy.js'
import { expressionErrors, namesOfPolicy } from './expressions.js'
import { mutatingOperationErrors } from './match-rules.js'

const patchTypes = ['ApplyConfiguration', 'JSONPatch']
const fields: Readonly<Record<string, string>> = {
  ApplyConfiguration: 'applyConfiguration',
  JSONPatch: 'jsonPatch',
}
// biome-ignore lint/suspicious/noExplicitAny: a mutation has one field for each type of patch
type Mutation = Record<string, any>

const mutationErrors = (mutation: Mutation, path: string, names: PolicyNames): FieldError[] => {
  const type: string = mutation.patchType ?? ''
  if (type === '') return [required(child(path, 'patchType'))]
  if (!patchTypes.includes(type)) return [notSupported(child(path, 'patchType'), type, patchTypes)]
  const own = fields[type]!
  const other = own === 'jsonPatch' ? 'applyConfiguration' : 'jsonPatch'
  const when = `when patchType is ${type}`
  return [
    ...(mutation[own] ? [] : [required(child(path, own), `must be specified ${when}`)]),
    ...(mutation[own] && trimSpace(mutation[own].expression ?? '') === ''
      ? [required(child(path, own, 'expression'))]
      : []),
    ...expressionErrors(
      child(path, own, 'expression'),
      mutation[own]?.expression && trimSpace(mutation[own].expression),
      // Mutations may name variables where there are none, unlike what policies that validate say.
      { variables: new Map(), ...names, patchTypes: true },
      own === 'jsonPatch' ? results.jsonPatches : results.applyConfiguration,
    ),
    ...(mutation[other]
      ? [invalid(child(path, other), `{${other}}`, `must not be specified ${when}`)]
      : []),
  ]
}

const validate = (object: KubeObject): FieldError[] => {
  const { spec } = object
  const mutations: Mutation[] = spec.mutations ?? []
  const policy: string | undefined = spec.reinvocationPolicy
  const names = namesOfPolicy(object)
  return [
    ...commonPolicyErrors(object, mutatingOperationErrors),
    ...(mutations.length === 0
      ? [required('spec.mutations', 'mutations must contain at least one item')]
      : each('spec.mutations', mutations, (m, at) => mutationErrors(m, at, names))),
    ...(!policy
      ? [required('spec.reinvocationPolicy')]
      : policy === 'Never' || policy === 'IfNeeded'
        ? []
        : [notSupported('spec.reinvocationPolicy', policy, ['IfNeeded', 'Never'])]),
  ]
}

export default defineKind({
  group: 'admissionregistration.k8s.io',
  version: 'v1',
  kind: 'MutatingAdmissionPolicy',
  strategy: policyStrategy(validate, false),
  sample: {
    metadata: { name: 'sample' },
    spec: {
      matchConstraints: sampleConstraints,
      reinvocationPolicy: 'Never',
      mutations: [
        {
          patchType: 'JSONPatch',
          jsonPatch: { expression: "[JSONPatch{op: 'remove', path: '/spec'}]" },
        },
      ],
    },
  },
})
