import { child, type FieldError, index, invalid, required } from '#api/field-error.js'
import type { KubeObject } from '#api/object.js'
import { compareQuantityTexts } from '#api/quantity.js'
import { oncePer } from '#async/once.js'
import { givenEmpty } from '#json/given-empty.js'
import { limits } from '#limits'
import { defineKind } from '#registry/resource-definition.js'
import { immutableMessage, sameJson } from '#validation/immutable.js'
import { internalForm } from '#validation/internal-form.js'
import { validAmount } from '#validation/pod/resources.js'
import { isQuotaResource, validQuotaResourceName } from '#validation/resource-name.js'
import { roundResourceList } from '../pods/resource-lists.js'
import { ownStatus } from '../status.js'

type Quantities = Record<string, string>
const scopes = new Set([
  'Terminating',
  'NotTerminating',
  'BestEffort',
  'NotBestEffort',
  'PriorityClass',
  'CrossNamespacePodAffinity',
  'VolumeAttributesClass',
])
const computeResources = /^(?:pods|(?:(?:requests|limits)\.)?(?:cpu|memory))$/
const existsOnlyScopes = new Set([
  'Terminating',
  'NotTerminating',
  'BestEffort',
  'NotBestEffort',
  'CrossNamespacePodAffinity',
])
const claimResources = /^(?:persistentvolumeclaims|requests\.storage)$/

const appliesTo = (scope: string, resource: string): boolean => {
  if (scope === 'BestEffort') return resource === 'pods'
  if (scope === 'VolumeAttributesClass') return claimResources.test(resource)
  return computeResources.test(resource)
}

/** How many resources a scope does not apply to. Counted once for each of the scopes, which a list may repeat. */
const misappliedOf = (hard: Quantities): ((scope: string) => number) => {
  const count = oncePer((scope) => {
    const names = Object.keys(hard).filter(isQuotaResource)
    return names.filter((name) => !appliesTo(scope, name)).length
  })
  return (scope) => (scopes.has(scope) ? count(scope) : 0)
}

/** Each resource is reported with each scope, in the same words. */
const repeated = (error: FieldError, count: number): FieldError[] =>
  Array(Math.min(count, limits.fieldErrorsMax)).fill(error)

const quantitiesErrors = (path: string, quantities: Quantities | undefined): FieldError[] =>
  Object.entries(quantities ?? {}).flatMap(([name, quantity]) => {
    const at = index(path, name)
    return [...validQuotaResourceName(at, name), ...validAmount(at, name, quantity)]
  })

const exclusiveScopes = ['BestEffort', 'Terminating']

/** A scope and its contrary are told of pair by pair. */
const conflicts = (path: string, names: readonly string[], shown: unknown): FieldError[] =>
  exclusiveScopes
    .filter((scope) => names.includes(scope) && names.includes(`Not${scope}`))
    .map(() => invalid(path, shown, 'conflicting scopes'))

const scopeErrors = ({
  scopes: given = [],
  hard = {},
}: {
  scopes?: string[]
  hard?: Quantities
}) => {
  const path = 'spec.scopes'
  const errors: FieldError[] = []
  const unsupported = invalid(path, given, 'unsupported scope')
  const unsupportedHere = invalid(path, given, 'unsupported scope applied to resource')
  const misapplied = misappliedOf(hard)
  for (const scope of given) {
    if (errors.length > limits.fieldErrorsMax) break
    if (!scopes.has(scope)) errors.push(unsupported)
    for (const error of repeated(unsupportedHere, misapplied(scope))) errors.push(error)
  }
  errors.push(...conflicts(path, given, given))
  return errors
}

interface ScopeRequirement {
  scopeName: string
  operator: string
  values?: string[]
}

const requirementErrors = (
  requirement: ScopeRequirement,
  unsupportedHere: readonly FieldError[],
): FieldError[] => {
  const path = 'spec.scopeSelector.matchExpressions'
  const { scopeName, operator, values = [] } = requirement
  const errors: FieldError[] = []
  if (!scopes.has(scopeName))
    errors.push(invalid(child(path, 'scopeName'), scopeName, 'unsupported scope'))
  for (const error of unsupportedHere) errors.push(error)
  if (existsOnlyScopes.has(scopeName) && operator !== 'Exists')
    errors.push(
      invalid(
        child(path, 'operator'),
        operator,
        "must be 'Exists' when scope is any of ResourceQuotaScopeTerminating, ResourceQuotaScopeNotTerminating, ResourceQuotaScopeBestEffort, ResourceQuotaScopeNotBestEffort or ResourceQuotaScopeCrossNamespacePodAffinity",
      ),
    )
  if ((operator === 'In' || operator === 'NotIn') && values.length === 0)
    errors.push(
      required(
        child(path, 'values'),
        "must be at least one value when `operator` is 'In' or 'NotIn' for scope selector",
      ),
    )
  if ((operator === 'Exists' || operator === 'DoesNotExist') && values.length > 0)
    errors.push(
      invalid(
        child(path, 'values'),
        values,
        "must be no value when `operator` is 'Exist' or 'DoesNotExist' for scope selector",
      ),
    )
  if (!['In', 'NotIn', 'Exists', 'DoesNotExist'].includes(operator))
    errors.push(invalid(child(path, 'operator'), operator, 'not a valid selector operator'))
  return errors
}

const selectorErrors = ({
  scopeSelector,
  scopes: given,
  hard = {},
}: KubeObject['spec']): FieldError[] => {
  const requirements: ScopeRequirement[] = scopeSelector?.matchExpressions ?? []
  const printed = internalForm('core.v1.ScopeSelector', scopeSelector)
  const path = 'spec.scopeSelector.matchExpressions'
  const unsupported = invalid(path, printed, 'unsupported scope applied to resource')
  const misapplied = misappliedOf(hard)
  const errors: FieldError[] = []
  for (const requirement of requirements) {
    if (errors.length > limits.fieldErrorsMax) break
    const unsupportedHere = repeated(unsupported, misapplied(requirement.scopeName))
    for (const error of requirementErrors(requirement, unsupportedHere)) errors.push(error)
  }
  // Upstream prints the other list of scopes.
  const names = requirements.map(({ scopeName }) => scopeName)
  errors.push(...conflicts(path, names, given ?? null))
  return errors
}

const validate = ({ spec = {} }: KubeObject): FieldError[] => [
  ...quantitiesErrors('spec.hard', spec.hard),
  ...scopeErrors(spec),
  ...selectorErrors(spec),
]

/** Requests that are bounded higher than limits. */
const warnings = ({ spec }: KubeObject): string[] => {
  const hard: Quantities = spec?.hard ?? {}
  return ['cpu', 'memory', 'storage', 'ephemeral-storage'].flatMap((resource) => {
    const mayBeBare = resource === 'cpu' || resource === 'memory'
    const requests = `requests.${resource}`
    const name = hard[requests] === undefined && mayBeBare ? resource : requests
    const request = hard[name]
    const limit = hard[`limits.${resource}`]
    if (request === undefined || limit === undefined) return []
    if (compareQuantityTexts(request, limit) <= 0) return []
    return [`ResourceQuota ${name} (${request}) should be less than limits.${resource} (${limit})`]
  })
}

const statusErrors = ({ status }: KubeObject): FieldError[] => [
  ...quantitiesErrors('status.hard', status?.hard),
  ...quantitiesErrors('status.used', status?.used),
]

export default defineKind({
  group: '',
  version: 'v1',
  kind: 'ResourceQuota',
  strategy: {
    metadataRevalidation: 'change',
    generation: 'none',
    ...ownStatus('io.k8s.api.core.v1.ResourceQuotaStatus'),
    default: ({ spec, status }) => {
      for (const list of [spec?.hard, status?.hard, status?.used]) roundResourceList(list)
    },
    validate,
    warningsOnCreate: warnings,
    validateUpdate: (next, previous) => {
      const [now, was] = [next, previous].map(({ spec }) => new Set<string>(spec?.scopes))
      return [
        ...validate(next),
        ...(sameJson([...now!].sort(), [...was!].sort())
          ? []
          : [
              invalid(
                'spec.scopes',
                next.spec?.scopes ?? givenEmpty(next.spec, 'scopes'),
                immutableMessage,
              ),
            ]),
      ]
    },
    status: { validateUpdate: statusErrors },
  },
  sample: { metadata: { name: 'sample' }, spec: { hard: { pods: '10' } } },
})
