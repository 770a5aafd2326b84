import { type FieldError, invalid, notSupported } from '#api/field-error.js'
import type { KubeObject } from '#api/object.js'
import { defineKind } from '#registry/resource-definition.js'
import { validLabelSelector } from '#validation/label-selector.js'
import { nonNegative, validIntOrPercent } from '#validation/number.js'

const evictionPolicies = ['AlwaysAllow', 'IfHealthyBudget']

const validate = ({ spec = {} }: KubeObject): FieldError[] => {
  const { minAvailable, maxUnavailable, selector, unhealthyPodEvictionPolicy } = spec
  const both = minAvailable !== undefined && maxUnavailable !== undefined
  return [
    ...(both
      ? [
          invalid(
            'spec',
            {
              MinAvailable: minAvailable,
              Selector: selector ?? null,
              MaxUnavailable: maxUnavailable,
              UnhealthyPodEvictionPolicy: unhealthyPodEvictionPolicy ?? null,
            },
            'minAvailable and maxUnavailable cannot be both set',
          ),
        ]
      : []),
    ...validIntOrPercent('spec.minAvailable', minAvailable),
    ...validIntOrPercent('spec.maxUnavailable', maxUnavailable),
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
    ...validLabelSelector('spec.selector', selector),
  ]
}

const counts = ['disruptionsAllowed', 'currentHealthy', 'desiredHealthy', 'expectedPods']

export default defineKind({
  group: 'policy',
  version: 'v1',
  kind: 'PodDisruptionBudget',
  strategy: {
    prepareForCreate: (budget) => {
      budget.status = Object.fromEntries(counts.map((field) => [field, 0]))
    },
    validate,
    prepareForUpdate: (next, previous) => {
      next.status = structuredClone(previous.status)
    },
    validateUpdate: validate,
    status: {
      validateUpdate: ({ status }) =>
        counts.flatMap((field) => nonNegative(`status.${field}`, status?.[field] ?? 0)),
    },
  },
  sample: {
    metadata: { name: 'sample' },
    spec: { minAvailable: 1, selector: { matchLabels: { app: 'sample' } } },
  },
})
