import { defineKind } from '#registry/resource-definition.js'
import { bindingStrategy } from './admission-policy.js'
import { mutatingOperationErrors } from './match-rules.js'

export default defineKind({
  group: 'admissionregistration.k8s.io',
  version: 'v1',
  kind: 'MutatingAdmissionPolicyBinding',
  strategy: bindingStrategy(({ matchResources }) =>
    matchResources ? mutatingOperationErrors(matchResources, 'spec.matchResources') : [],
  ),
  sample: { metadata: { name: 'sample' }, spec: { policyName: 'sample' } },
})
