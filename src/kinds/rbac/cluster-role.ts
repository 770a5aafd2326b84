import { each } from '#api/each.js'
import { child, type FieldError, invalid, required } from '#api/field-error.js'
import type { LabelSelector } from '#api/label-selector.js'
import { pathSegmentName } from '#api/names.js'
import type { KubeObject } from '#api/object.js'
import { defineKind } from '#registry/resource-definition.js'
import { validLabelSelector } from '#validation/label-selector.js'
import { validateRules } from './rules.js'

const aggregationErrors = ({ aggregationRule }: KubeObject): FieldError[] => {
  if (!aggregationRule) return []
  const path = child('aggregationRule', 'clusterRoleSelectors')
  const selectors: LabelSelector[] = aggregationRule.clusterRoleSelectors ?? []
  if (selectors.length === 0)
    return [
      required(path, 'at least one clusterRoleSelector required if aggregationRule is non-nil'),
    ]
  return each(path, selectors, (selector, at) => {
    const errors = validLabelSelector(at, selector)
    return errors.length === 0 ? [] : [...errors, invalid(at, null, 'invalid label selector.')]
  })
}

const validate = (role: KubeObject): FieldError[] => [
  ...validateRules(role, false),
  ...aggregationErrors(role),
]

export default defineKind({
  group: 'rbac.authorization.k8s.io',
  version: 'v1',
  kind: 'ClusterRole',
  strategy: {
    allowCreateOnUpdate: true,
    validateName: pathSegmentName,
    validate,
    metadataRevalidation: 'placed',
    validateUpdate: (role, _previous, _ctx, metadata) => [
      ...metadata.create(),
      ...validate(role),
      ...metadata.change(),
    ],
  },
  sample: {
    metadata: { name: 'sample' },
    rules: [{ verbs: ['get'], nonResourceURLs: ['/sample'] }],
  },
})
