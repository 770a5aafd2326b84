/** Checks of rules, role references and subjects. Order and texts: kubernetes pkg/apis/rbac/validation. */

import { each } from '#api/each.js'
import { child, type FieldError, invalid, notSupported, required } from '#api/field-error.js'
import { pathSegmentName } from '#api/names.js'
import type { KubeObject } from '#api/object.js'
import type { Strategy } from '#registry/resource-definition.js'
import { validDnsSubdomain, validPathSegment } from '#validation/formats.js'

const rbacGroup = 'rbac.authorization.k8s.io'

interface PolicyRule {
  verbs?: string[]
  apiGroups?: string[]
  resources?: string[]
  resourceNames?: string[]
  nonResourceURLs?: string[]
}

const isEmpty = (list: string[] | undefined): boolean => (list ?? []).length === 0

const ruleErrors = (rule: PolicyRule, path: string, namespaced: boolean): FieldError[] => {
  const errors: FieldError[] = []
  if (isEmpty(rule.verbs))
    errors.push(required(child(path, 'verbs'), 'verbs must contain at least one value'))
  if (!isEmpty(rule.nonResourceURLs)) {
    const refuse = (detail: string): FieldError =>
      invalid(child(path, 'nonResourceURLs'), rule.nonResourceURLs, detail)
    if (namespaced) errors.push(refuse('namespaced rules cannot apply to non-resource URLs'))
    if (![rule.apiGroups, rule.resources, rule.resourceNames].every(isEmpty))
      errors.push(refuse('rules cannot apply to both regular resources and non-resource URLs'))
    return errors
  }
  if (isEmpty(rule.apiGroups))
    errors.push(
      required(child(path, 'apiGroups'), 'resource rules must supply at least one api group'),
    )
  if (isEmpty(rule.resources))
    errors.push(
      required(child(path, 'resources'), 'resource rules must supply at least one resource'),
    )
  return errors
}

export const validateRules = (role: KubeObject, namespaced: boolean): FieldError[] =>
  each('rules', role.rules as PolicyRule[] | undefined, (rule, path) =>
    ruleErrors(rule, path, namespaced),
  )

interface Subject {
  kind?: string
  apiGroup?: string
  name?: string
  namespace?: string
}

const accountErrors = (subject: Subject, path: string, namespaced: boolean): FieldError[] => [
  ...(subject.name ? validDnsSubdomain(child(path, 'name'), subject.name) : []),
  ...(subject.apiGroup ? [notSupported(child(path, 'apiGroup'), subject.apiGroup, [''])] : []),
  ...(!namespaced && !subject.namespace ? [required(child(path, 'namespace'))] : []),
]

const subjectErrors = (subject: Subject, path: string, namespaced: boolean): FieldError[] => {
  const errors = subject.name ? [] : [required(child(path, 'name'))]
  switch (subject.kind) {
    case 'ServiceAccount':
      return [...errors, ...accountErrors(subject, path, namespaced)]
    case 'User':
    case 'Group':
      if (subject.apiGroup !== rbacGroup)
        errors.push(notSupported(child(path, 'apiGroup'), subject.apiGroup ?? '', [rbacGroup]))
      return errors
    default:
      return [
        ...errors,
        notSupported(child(path, 'kind'), subject.kind ?? '', ['ServiceAccount', 'User', 'Group']),
      ]
  }
}

const validateBinding = (binding: KubeObject, namespaced: boolean): FieldError[] => {
  const { apiGroup = '', kind = '', name = '' } = binding.roleRef ?? {}
  const kinds = namespaced ? ['Role', 'ClusterRole'] : ['ClusterRole']
  return [
    ...(apiGroup === rbacGroup ? [] : [notSupported('roleRef.apiGroup', apiGroup, [rbacGroup])]),
    ...(kinds.includes(kind) ? [] : [notSupported('roleRef.kind', kind, kinds)]),
    ...validPathSegment('roleRef.name', name),
    ...each('subjects', binding.subjects as Subject[] | undefined, (subject, path) =>
      subjectErrors(subject, path, namespaced),
    ),
  ]
}

/** The reference is for life: another role could be given to subjects that were not meant for it. */
const roleRefErrors = (next: KubeObject, previous: KubeObject): FieldError[] => {
  const { apiGroup, kind, name } = next.roleRef
  const before = previous.roleRef
  const changed = apiGroup !== before.apiGroup || kind !== before.kind || name !== before.name
  return changed
    ? [invalid('roleRef', { APIGroup: apiGroup, Kind: kind, Name: name }, 'cannot change roleRef')]
    : []
}

const defaultBinding = (binding: KubeObject): void => {
  if (binding.roleRef && !binding.roleRef.apiGroup) binding.roleRef.apiGroup = rbacGroup
  for (const subject of binding.subjects ?? [])
    if (!subject.apiGroup && (subject.kind === 'User' || subject.kind === 'Group'))
      subject.apiGroup = rbacGroup
}

export const bindingStrategy = (namespaced: boolean): Strategy => ({
  allowCreateOnUpdate: true,
  validateName: pathSegmentName,
  default: defaultBinding,
  validate: (binding) => validateBinding(binding, namespaced),
  metadataRevalidation: 'placed',
  validateUpdate: (next, previous, _, metadata) => [
    ...metadata.create(),
    ...validateBinding(next, namespaced),
    ...metadata.change(),
    ...roleRefErrors(next, previous),
  ],
})
