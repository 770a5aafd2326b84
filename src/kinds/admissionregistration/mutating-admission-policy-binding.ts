import { defineKind } from '#registry/resource-definition.js'
import { bindingStrategy } from './admission-policy.js'

export default defineKind({
  group: 'admissionregistration.k8s.io',
  version: 'v1',
  kind: 'MutatingAdmissionPolicyBinding',
  strategy: bindingStrategy(),
  sample: { metadata: { name: 'sample' }, spec: { policyName: 'sample' } },
})
