import { type FieldError, invalid, notSupported } from '#api/field-error.js'
import { pathSegmentName } from '#api/names.js'
import type { KubeObject } from '#api/object.js'
import { defineKind } from '#registry/resource-definition.js'
import { validConditions } from '#validation/conditions.js'
import { internalForm } from '#validation/internal-form.js'
import { validLabelSelector } from '#validation/label-selector.js'
import { nonNegative, notMoreThanAll, validIntOrPercent } from '#validation/number.js'
import { ownStatus } from '../status.js'

const evictionPolicies = ['AlwaysAllow', 'IfHealthyBudget']

const validate = ({ spec = {} }: KubeObject): FieldError[] => {
  const { minAvailable, maxUnavailable, selector, unhealthyPodEvictionPolicy } = spec
  const both = minAvailable !== undefined && maxUnavailable !== undefined
  return [
    ...(both
      ? [
          invalid(
            'spec',
            internalForm('policy.v1.PodDisruptionBudgetSpec', spec),
            'minAvailable and maxUnavailable cannot be both set',
          ),
        ]
      : []),
    ...validIntOrPercent('spec.minAvailable', minAvailable),
    ...notMoreThanAll('spec.minAvailable', minAvailable),
    ...validIntOrPercent('spec.maxUnavailable', maxUnavailable),
    ...notMoreThanAll('spec.maxUnavailable', maxUnavailable),
    ...validLabelSelector('spec.selector', selector),
    ...(unhealthyPodEvictionPolicy === undefined ||
    evictionPolicies.includes(unhealthyPodEvictionPolicy)
      ? []
      : [
          notSupported(
            'spec.unhealthyPodEvictionPolicy',
            unhealthyPodEvictionPolicy,
            evictionPolicies,
          ),
        ]),
  ]
}

const counts = ['disruptionsAllowed', 'currentHealthy', 'desiredHealthy', 'expectedPods']

export default defineKind({
  group: 'policy',
  version: 'v1',
  kind: 'PodDisruptionBudget',
  strategy: {
    statusMetadataRevalidation: 'none',
    metadataRevalidation: 'none',
    knownFinalizerNames: false,
    // Its name only has to fit into a path.
    validateName: pathSegmentName,
    ...ownStatus('io.k8s.api.policy.v1.PodDisruptionBudgetStatus'),
    validate,
    validateUpdate: validate,
    status: {
      validateUpdate: ({ status }) => [
        ...validConditions('status.conditions', status?.conditions),
        ...counts.flatMap((field) => nonNegative(`status.${field}`, status?.[field] ?? 0)),
      ],
    },
  },
  sample: {
    metadata: { name: 'sample' },
    spec: { minAvailable: 1, selector: { matchLabels: { app: 'sample' } } },
  },
})
