/** What validating and mutating admission policies and their bindings share. */
import { child, type FieldError, forbidden, index, invalid, required } from '#api/field-error.js'
import { isDns1035Label, isDns1123Subdomain } from '#api/names.js'
import type { KubeObject } from '#api/object.js'
import type { Strategy } from '#registry/resource-definition.js'
import { sameJson } from '#validation/immutable.js'
import { variableTypes } from './expressions.js'
import {
  defaultMatch,
  failurePolicies,
  type MatchResources,
  matchConditionErrors,
  matchResourcesErrors,
  oneOf,
} from './match-rules.js'

interface ParamKind {
  apiVersion?: string
  kind?: string
}

const paramKindErrors = (param: ParamKind | undefined): FieldError[] => {
  if (!param) return []
  const { apiVersion = '', kind = '' } = param
  const path = 'spec.paramKind'
  return [
    ...(apiVersion === ''
      ? [required(`${path}.apiVersion`)]
      : apiVersion.split('/').length > 2
        ? [
            invalid(
              `${path}.apiVersion`,
              apiVersion,
              `unexpected GroupVersion string: ${apiVersion}`,
            ),
          ]
        : []),
    ...(kind === ''
      ? [required(`${path}.kind`)]
      : isDns1035Label(kind.toLowerCase()).map((m) =>
          invalid(`${path}.kind`, kind, `may have mixed case, but should otherwise match: ${m}`),
        )),
  ]
}

interface Variable {
  name?: string
  expression?: string
}

const variableErrors = (variables: Variable[]): FieldError[] =>
  variables.flatMap(({ name = '', expression = '' }, i) => {
    const at = index('spec.variables', i)
    return [
      ...(name === ''
        ? [required(child(at, 'name'), 'name is not specified')]
        : /^[_a-zA-Z][_a-zA-Z0-9]*$/.test(name)
          ? []
          : [invalid(child(at, 'name'), name, 'must be a valid CEL identifier')]),
      ...(expression.trim() === ''
        ? [required(child(at, 'expression'), 'expression is not specified')]
        : []),
    ]
  })

export const commonPolicyErrors = ({ spec }: KubeObject): FieldError[] => {
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
        ]),
    ...matchConditionErrors(spec.matchConditions ?? [], 'spec.matchConditions', {
      params: Boolean(spec.paramKind),
    }),
    ...variableErrors(spec.variables ?? []),
    ...variableTypes(spec.variables ?? [], Boolean(spec.paramKind)).errors,
  ]
}

export const policyStrategy = (
  validate: (object: KubeObject) => FieldError[],
  hasStatus: boolean,
): Strategy => ({
  generation: (next, previous) => !sameJson(next.spec, previous.spec),
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
})

const paramRefErrors = (ref: KubeObject['spec']): FieldError[] => {
  if (!ref) return []
  const path = 'spec.paramRef'
  const { name = '', selector, parameterNotFoundAction: action } = ref
  const exclusive = 'name and selector are mutually exclusive'
  const selection =
    name !== '' && selector
      ? [forbidden(`${path}.name`, exclusive), forbidden(`${path}.selector`, exclusive)]
      : name === '' && !selector
        ? [required(path, 'one of name or selector must be specified')]
        : []
  return [
    ...selection,
    ...(action === undefined
      ? [required(`${path}.parameterNotFoundAction`)]
      : oneOf(`${path}.parameterNotFoundAction`, action, ['Deny', 'Allow'])),
  ]
}

export const bindingStrategy = (
  more: (spec: KubeObject['spec']) => FieldError[] = () => [],
): Strategy => {
  const validate = ({ spec = {} }: KubeObject): FieldError[] => {
    const name: string = spec.policyName ?? ''
    return [
      ...(name === ''
        ? [required('spec.policyName')]
        : isDns1123Subdomain(name).map((m) => invalid('spec.policyName', name, m))),
      ...paramRefErrors(spec.paramRef),
      ...(spec.matchResources
        ? matchResourcesErrors(spec.matchResources, 'spec.matchResources')
        : []),
      ...more(spec),
    ]
  }
  return {
    generation: (next, previous) => !sameJson(next.spec, previous.spec),
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
