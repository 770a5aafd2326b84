/** What validating and mutating admission policies and their bindings share. */

import { each } from '#api/each.js'
import { child, type FieldError, forbidden, invalid, oneOf, required } from '#api/field-error.js'
import { isDns1035Label, isDns1123Subdomain, isPathSegmentName } from '#api/names.js'
import type { KubeObject } from '#api/object.js'
import { trimSpace } from '#go/trim-space.js'
import type { Strategy } from '#registry/resource-definition.js'
import { validConditions } from '#validation/conditions.js'
import { validDnsSubdomain } from '#validation/formats.js'
import { sameJson } from '#validation/immutable.js'
import { validLabelSelector } from '#validation/label-selector.js'
import { onlyStatusChanges } from '../status.js'
import { variableTypes } from './expressions.js'
import {
  defaultMatch,
  failurePolicies,
  type MatchResources,
  matchConditionErrors,
  matchResourcesErrors,
} from './match-rules.js'
import { staticNameWarnings } from './static-names.js'

interface ParamKind {
  apiVersion?: string
  kind?: string
}

const groupVersionErrors = (path: string, text: string): FieldError[] => {
  if (text === '') return [required(path)]
  if (text.split('/').length > 2)
    return [invalid(path, text, `unexpected GroupVersion string: ${text}`)]
  const [version = '', group = ''] = text.split('/').reverse()
  const groupTexts = group === '' ? [] : isDns1123Subdomain(group)
  const versionTexts = isDns1035Label(version)
  return [
    ...(groupTexts.length > 0 ? [invalid(path, group, groupTexts.join(','))] : []),
    ...(version === ''
      ? [invalid(path, text, 'version must be specified')]
      : versionTexts.length > 0
        ? [invalid(path, version, versionTexts.join(','))]
        : []),
  ]
}

const paramKindErrors = (param: ParamKind | undefined): FieldError[] => {
  if (!param) return []
  const { apiVersion = '', kind = '' } = param
  const path = 'spec.paramKind'
  const errors = groupVersionErrors(`${path}.apiVersion`, apiVersion)
  if (kind === '') return [...errors, required(`${path}.kind`)]
  const texts = isDns1035Label(kind.toLowerCase())
  const why = `may have mixed case, but should otherwise match: ${texts.join(',')}`
  return texts.length === 0 ? errors : [...errors, invalid(`${path}.kind`, kind, why)]
}

/** `more` are further rules about the match constraints, reported after the common ones. */
export const commonPolicyErrors = (
  { spec }: KubeObject,
  more: (match: MatchResources, path: string) => FieldError[] = () => [],
): FieldError[] => {
  const match: MatchResources | undefined = spec.matchConstraints
  return [
    ...oneOf('spec.failurePolicy', spec.failurePolicy, failurePolicies),
    ...paramKindErrors(spec.paramKind),
    ...(match === undefined
      ? [required('spec.matchConstraints')]
      : [
          ...matchResourcesErrors(match, 'spec.matchConstraints'),
          ...((match.resourceRules ?? []).length === 0
            ? [required('spec.matchConstraints.resourceRules')]
            : []),
          ...more(match, 'spec.matchConstraints'),
        ]),
    ...matchConditionErrors(spec.matchConditions ?? [], 'spec.matchConditions', {
      params: Boolean(spec.paramKind),
    }),
    ...variableTypes(spec.variables ?? [], Boolean(spec.paramKind)).errors,
  ]
}

interface ExpressionWarning {
  fieldRef?: string
  warning?: string
}

const statusErrors = ({ status = {} }: KubeObject): FieldError[] => [
  ...each(
    'status.typeChecking.expressionWarnings',
    status.typeChecking?.expressionWarnings as ExpressionWarning[] | undefined,
    ({ fieldRef = '', warning = '' }, at) => [
      ...(warning === '' ? [required(child(at, 'warning'))] : []),
      ...(trimSpace(fieldRef) === '' ? [required(child(at, 'fieldRef'))] : []),
    ],
  ),
  ...validConditions('status.conditions', status.conditions),
]

export const policyStrategy = (
  validate: (object: KubeObject) => FieldError[],
  hasStatus: boolean,
): Strategy => ({
  metadataRevalidation: 'create',
  statusMetadataRevalidation: 'none',
  knownFinalizerNames: false,
  generation: (next, previous) => !sameJson(next.spec, previous.spec),
  ...staticNameWarnings(),
  default: ({ spec }) => {
    if (!spec) return
    spec.failurePolicy ??= 'Fail'
    defaultMatch(spec.matchConstraints)
  },
  prepareForCreate: (object) => {
    object.spec ??= {}
    object.metadata.generation = 1
    if (hasStatus) object.status = {}
  },
  validate,
  prepareForUpdate: (next, previous) => {
    if (hasStatus) next.status = previous.status
  },
  validateUpdate: validate,
  ...(hasStatus
    ? { status: { prepareForUpdate: onlyStatusChanges, validateUpdate: statusErrors } }
    : {}),
})

const paramRefErrors = (ref: KubeObject['spec']): FieldError[] => {
  if (!ref) return []
  const path = 'spec.paramRef'
  const { name = '', selector, parameterNotFoundAction: action } = ref
  const exclusive = 'name and selector are mutually exclusive'
  const both = name !== '' && selector
  return [
    ...isPathSegmentName(name).map((m) => invalid(`${path}.name`, name, m)),
    ...(both ? [forbidden(`${path}.name`, exclusive)] : []),
    ...validLabelSelector(`${path}.selector`, selector),
    ...(both ? [forbidden(`${path}.selector`, exclusive)] : []),
    ...(name === '' && !selector
      ? [required(path, 'one of name or selector must be specified')]
      : []),
    ...(!action
      ? [required(`${path}.parameterNotFoundAction`)]
      : oneOf(`${path}.parameterNotFoundAction`, action, ['Deny', 'Allow'])),
  ]
}

export const bindingStrategy = (more: (spec: KubeObject['spec']) => FieldError[]): Strategy => {
  const validate = ({ spec = {} }: KubeObject): FieldError[] => {
    const name: string = spec.policyName ?? ''
    return [
      ...(name === '' ? [required('spec.policyName')] : validDnsSubdomain('spec.policyName', name)),
      ...paramRefErrors(spec.paramRef),
      ...(spec.matchResources
        ? matchResourcesErrors(spec.matchResources, 'spec.matchResources')
        : []),
      ...more(spec),
    ]
  }
  return {
    metadataRevalidation: 'create',
    knownFinalizerNames: false,
    generation: (next, previous) => !sameJson(next.spec, previous.spec),
    ...staticNameWarnings(),
    default: ({ spec }) => defaultMatch(spec?.matchResources),
    prepareForCreate: (object) => {
      object.spec ??= {}
      object.metadata.generation = 1
    },
    validate,
    validateUpdate: validate,
  }
}

export const sampleConstraints = {
  resourceRules: [
    {
      apiGroups: ['example.com'],
      apiVersions: ['v1'],
      operations: ['CREATE'],
      resources: ['samples'],
    },
  ],
}
